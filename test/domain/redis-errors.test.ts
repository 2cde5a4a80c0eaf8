import { describe, expect, test, vi } from 'vitest';
import { isOutage, nameRedisError, reportOutages } from '../../src/domain/redis-errors.ts';

const AWAY = new Error('connect ECONNREFUSED 127.0.0.1:6379');
const REFUSED = new Error('WRONGPASS invalid username-password pair or user is disabled.');

describe('the failure of a call', () => {
  test.each([
    'connect ECONNREFUSED 127.0.0.1:6379',
    'read ECONNRESET',
    'Connection is closed.',
    'Command timed out',
    'LOADING Redis is loading the dataset in memory',
    "READONLY You can't write against a read only replica.",
    'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
    'NOREPLICAS Not enough good replicas to write.',
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'Command aborted due to connection close',
    'CLUSTERDOWN The cluster is down',
    'Too many Cluster redirections. Last error: ReplyError: MOVED 4887 127.0.0.1:36709',
    "Cluster isn't ready and enableOfflineQueue options is false",
    'None of startup nodes is available',
    'All sentinels are unreachable. Retrying from scratch after 50ms.',
    'Failed to refresh slots cache.',
  ])('%s: Redis is away', (message) => {
    const cause = new Error(message);
    expect(isOutage(cause)).toBe(true);
    expect(nameRedisError(cause)).toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringContaining(message),
      cause,
    });
  });

  test('a code without a message is told', () => {
    const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    expect(nameRedisError(cause)).toMatchObject({ message: 'Redis does not answer: ECONNREFUSED' });
  });

  test.each([
    [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'self-signed certificate in certificate chain', 'signed by nobody'],
    [{ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }, 'unable to verify the first certificate', 'signed by nobody'],
    [{}, 'All sentinels are unreachable. Last error: unable to get local issuer certificate', 'signed by nobody'],
    [{ code: 'CERT_HAS_EXPIRED' }, 'certificate has expired', 'has expired'],
    [{ code: 'CERT_NOT_YET_VALID' }, 'certificate is not yet valid', 'not valid yet'],
    [
      {},
      "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ",
      'another name',
    ],
    [{ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }, 'tlsv13 alert certificate required', 'asks for'],
    [{ code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' }, 'tlsv1 alert unknown ca', 'does not take our certificate'],
    [{ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, 'wrong version number', 'speaks no TLS'],
  ])('%j %s: Redis is there, and there is no TLS with it', (code, said, words) => {
    const cause = Object.assign(new Error(said), code);
    expect(isOutage(cause)).toBe(true);
    expect(nameRedisError(cause)).toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringMatching(`^Redis cannot be used: it.*${words}`),
      cause,
    });
  });

  test('of a Cluster is told with what its last node did', () => {
    const cause = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: AWAY });
    expect(nameRedisError(cause)).toMatchObject({
      message: `Redis does not answer: Failed to refresh slots cache. ${AWAY.message}`,
    });
  });

  test('a full Redis is not one that is away', () => {
    const cause = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    expect(isOutage(cause)).toBe(false);
    expect(nameRedisError(cause)).toMatchObject({ code: 'redis_full', cause });
  });

  // Taken for an outage it would not be reported: the connection reports those.
  test.each([
    new Error('uploading the file failed'),
    new Error('BUSYGROUP Consumer Group name already exists'),
    new Error('a readonly field'),
    REFUSED,
    'LOADING',
    undefined,
  ])('%s is left as it is', (cause) => {
    expect(isOutage(cause)).toBe(false);
    expect(nameRedisError(cause)).toBe(cause);
  });
});

describe('an outage', () => {
  test('is told once, and the next one again', () => {
    const report = vi.fn<(error: Error) => void>();
    const outages = reportOutages(report);
    for (const _ of [1, 2, 3]) outages.onError(AWAY);
    expect(report.mock.calls).toMatchObject([[{ code: 'redis_unavailable', cause: AWAY }]]);
    outages.onReady();
    outages.onError(AWAY);
    expect(report).toHaveBeenCalledTimes(2);
  });

  test('that is none is told as it is, once too', () => {
    const report = vi.fn<(error: Error) => void>();
    const outages = reportOutages(report);
    for (const _ of [1, 2]) outages.onError(REFUSED);
    expect(report.mock.calls).toStrictEqual([[REFUSED]]);
  });
});
