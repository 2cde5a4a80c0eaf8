import { describe, expect, test, vi } from 'vitest';
import { findWriteRefusal, TurnfoldError } from '../../src/domain/errors.ts';
import { isOutage, nameRedisError, outage, outageBecause, reportOutages } from '../../src/store/redis/errors.ts';

const AWAY = new Error('connect ECONNREFUSED 127.0.0.1:6379');
const REFUSED = new Error('WRONGPASS invalid username-password pair or user is disabled.');

describe('nameRedisError', () => {
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
  ])('nameRedisError converts the outage "%s" to redis_unavailable', (message) => {
    const cause = new Error(message);
    expect(isOutage(cause)).toBe(true);
    expect(nameRedisError(cause)).toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringMatching(/^Redis (does not answer|refuses writes): (it|nothing|no|there|the|a|fewer) /),
      cause,
    });
  });

  test.each([
    ['connect ECONNREFUSED 127.0.0.1:6379', 'no server accepts connections (ECONNREFUSED) at 127.0.0.1:6379'],
    ['Connection is closed.', 'there is no connection to it'],
    ["Stream isn't writeable and enableOfflineQueue options is false", 'there is no connection to it'],
    ['Reached the max retries per request limit (which is 0).', 'there is no connection to it'],
    ['Command aborted due to connection close', 'the connection was lost'],
    ['Stream connection ended and command aborted. It might have been processed.', 'the connection was lost'],
    ['LOADING Redis is loading the dataset in memory', 'it is loading its data (LOADING)'],
    ['CLUSTERDOWN The cluster is down', 'the Cluster serves no requests now (CLUSTERDOWN)'],
    [
      'UNBLOCKED force unblock from blocking operation',
      'it changed its role between master and replica during the call (UNBLOCKED)',
    ],
  ])('nameRedisError replaces the library’s message "%s" by turnfold’s own words for the cause', (message, words) => {
    expect(nameRedisError(new Error(message))).toMatchObject({ message: `Redis does not answer: ${words}` });
  });

  test.each([
    ['NOAUTH Authentication required.', /requires a password.*REDIS_URL/],
    ['NOAUTH HELLO must be called with the client already authenticated', /requires a password.*REDIS_URL/],
    [
      'WRONGPASS invalid username-password pair or user is disabled.',
      /refuses the user name or the password.*REDIS_URL/,
    ],
    [
      'ERR AUTH <password> called without any password configured for the default user.',
      /default user of Redis has none.*Remove/,
    ],
    ["NOPERM this user has no permissions to run the 'info' command", /command INFO .*SETUSER <user> \+info\./],
    ["NOPERM User app has no permissions to run the 'config|get' command", /command CONFIG GET .*\+config\|get\./],
    ['NOPERM this user has no permissions to access one of the keys used as arguments', /keys.*~\{tf\* ~\{tq\*/],
    ['NOPERM No permissions to access a channel', /channels.*&\{tf\*/],
    [
      "ERR The user executing the script can't run this command or subcommand script: 85, on @user_script:1.",
      /command that a script/,
    ],
    ["ERR The user executing the script can't access at least one of the keys mentioned", /keys.*~\{tf\*/],
    [
      'All sentinels are unreachable. Last error: NOAUTH Authentication required.',
      /Sentinels refuse.*sentinelPassword/,
    ],
    [
      'All sentinels are unreachable. Last error: DENIED Redis is running in protected mode',
      /protected mode.*sentinelPassword/,
    ],
  ])('nameRedisError converts "%s" to redis_denied with a next step', (message, words) => {
    const cause = new Error(message);
    for (const error of [nameRedisError(cause), outage(cause)]) {
      expect(error).toMatchObject({ code: 'redis_denied', message: expect.stringMatching(words), cause });
    }
  });

  test('nameRedisError describes an error without a message by its code', () => {
    const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    expect(nameRedisError(cause)).toMatchObject({
      message: 'Redis does not answer: no server accepts connections (ECONNREFUSED)',
    });
  });

  test.each([
    [{ code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'self-signed certificate in certificate chain', 'trusted authority'],
    [{ code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }, 'unable to verify the first certificate', 'trusted authority'],
    [{}, 'All sentinels are unreachable. Last error: unable to get local issuer certificate', 'trusted authority'],
    [{ code: 'CERT_HAS_EXPIRED' }, 'certificate has expired', 'has expired'],
    [{ code: 'CERT_NOT_YET_VALID' }, 'certificate is not yet valid', 'not valid yet'],
    [
      {},
      "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ",
      'another host name',
    ],
    [{ code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }, 'tlsv13 alert certificate required', 'requires'],
    [{ code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' }, 'tlsv1 alert unknown ca', 'does not accept our certificate'],
    [{ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, 'wrong version number', 'speaks no TLS'],
  ])('nameRedisError converts the TLS error %j "%s" to a message that names the TLS cause', (code, said, words) => {
    const cause = Object.assign(new Error(said), code);
    expect(isOutage(cause)).toBe(true);
    expect(nameRedisError(cause)).toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringMatching(`^Redis cannot be used: it.*${words}`),
      cause,
    });
  });

  test('nameRedisError reports an outage of a Cluster with the error of its last node', () => {
    const cause = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: AWAY });
    expect(nameRedisError(cause)).toMatchObject({
      message: 'Redis does not answer: no server accepts connections (ECONNREFUSED) at 127.0.0.1:6379',
    });
  });

  test('nameRedisError converts the error of a full Redis to redis_full, which is no outage', () => {
    const cause = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    expect(isOutage(cause)).toBe(false);
    expect(nameRedisError(cause)).toMatchObject({ code: 'redis_full', cause });
  });

  // An outage is reported only by the connection, so a wrong match would hide these errors.
  test.each([
    new Error('uploading the file failed'),
    new Error('BUSYGROUP Consumer Group name already exists'),
    new Error('a readonly field'),
    'LOADING',
    undefined,
  ])('nameRedisError returns %s unchanged, because it is no outage', (cause) => {
    expect(isOutage(cause)).toBe(false);
    expect(nameRedisError(cause)).toBe(cause);
  });
});

describe('reportOutages', () => {
  test('reportOutages reports each outage once, although ioredis emits an error per reconnect', () => {
    const report = vi.fn<(error: Error) => void>();
    const outages = reportOutages(report);
    for (const _ of [1, 2, 3]) outages.onError(AWAY);
    expect(report.mock.calls).toMatchObject([[{ code: 'redis_unavailable', cause: AWAY }]]);
    outages.onReady();
    outages.onError(AWAY);
    expect(report).toHaveBeenCalledTimes(2);
  });

  test('reportOutages reports an error other than an outage once, with its own code', () => {
    const report = vi.fn<(error: Error) => void>();
    const outages = reportOutages(report);
    for (const _ of [1, 2]) outages.onError(REFUSED);
    expect(report.mock.calls).toMatchObject([[{ code: 'redis_denied', cause: REFUSED }]]);
  });
});

describe('findWriteRefusal', () => {
  const named = (message: string): unknown => nameRedisError(new Error(message));

  test.each([
    ["OOM command not allowed when used memory > 'maxmemory'.", 'redis_full'],
    ["READONLY You can't write against a read only replica.", 'redis_unavailable'],
    ['MISCONF Redis is configured to save RDB snapshots.', 'redis_unavailable'],
    ['connect ECONNREFUSED 127.0.0.1:6379', undefined],
    ['ERR unknown command', undefined],
  ])('findWriteRefusal classifies "%s" as %s', (message, code) => {
    expect(findWriteRefusal(named(message))).toBe(code);
  });

  test('findWriteRefusal ignores errors that turnfold coded itself, and other values', () => {
    expect(findWriteRefusal(new TurnfoldError('redis_unavailable', 'away'))).toBeUndefined();
    expect(findWriteRefusal('OOM')).toBeUndefined();
    expect(nameRedisError('OOM')).toBe('OOM');
  });
});

test('outageBecause makes a redis_unavailable error whose message contains the given cause', () => {
  expect(outageBecause('its master is silent')).toMatchObject({
    code: 'redis_unavailable',
    message: 'Redis does not answer: its master is silent',
  });
});
