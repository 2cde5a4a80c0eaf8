import { describe, expect, test } from 'vitest';
import { checkSettings } from '../../src/host/config/check-settings.ts';
import { showSettings } from '../../src/host/config/describe-settings.ts';
import { listSecrets } from '../../src/host/config/list-secrets.ts';
import type { SettingSource } from '../../src/host/config/read-setting.ts';
import { readConfig } from '../../src/host/config.ts';
import { createAuthority, findOpensslObstacle } from '../redis-modes/certificates.ts';

const obstacle = await findOpensslObstacle();
const URL = { REDIS_URL: 'rediss://redis.example' };

function sourceOf(env: Record<string, string>, files: Record<string, string> = {}): SettingSource {
  return {
    env,
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw new Error(`ENOENT ${path}`);
      return text;
    },
  };
}

test('readConfig returns no TLS settings by default', () => {
  expect(readConfig({}).redisTls).toBeUndefined();
});

describe.skipIf(obstacle !== undefined)(`certificates (${obstacle ?? 'they can be made here'})`, () => {
  test('readConfig reads certificates from variables or files, and several trusted ones', async () => {
    const [one, other] = [await createAuthority(), await createAuthority()];
    const { cert, key } = await one.issue('DNS:worker');
    const both = `${one.cert}${other.cert}`;
    const files = { '/ca': both, '/cert': cert, '/key': key };
    const env = { ...URL, REDIS_CA_FILE: '/ca', REDIS_CERT_FILE: '/cert', REDIS_KEY_FILE: '/key' };
    const source = sourceOf({ ...env, REDIS_SERVER_NAME: 'redis.example' }, files);
    const tls = { ca: both.trim(), cert: cert.trim(), key: key.trim(), serverName: 'redis.example' };
    expect(readConfig(source.env, source.readFile).redisTls).toEqual(tls);
    expect(readConfig({ ...URL, REDIS_CERT: cert, REDIS_KEY: key }).redisTls).toEqual({ cert: tls.cert, key: tls.key });
    expect(checkSettings(source)).toEqual({ errors: [], warnings: [] });
  });

  test('showSettings shows subject and expiry of a certificate, and masks its key', async () => {
    const authority = await createAuthority();
    const { cert, key } = await authority.issue('DNS:worker');
    const source = sourceOf({ ...URL, REDIS_CA: authority.cert, REDIS_CERT: cert, REDIS_KEY: key });
    expect(showSettings(source)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          name: 'REDIS_CA',
          value: expect.stringMatching(/^CN=authority of a test, until .+GMT$/),
        }),
        { name: 'REDIS_KEY', value: '***', origin: 'env' },
      ]),
    );
    expect(listSecrets(source)).toEqual([key.trim()]);
  });

  test.each<[string, string, (own: { cert: string; key: string; other: string }) => Record<string, string>]>([
    ['REDIS_CA', 'must be one or more certificates in PEM', () => ({ REDIS_CA: 's3cret' })],
    ['REDIS_CA_FILE', 'cannot read the file that this variable names', () => ({ REDIS_CA_FILE: '/nowhere' })],
    ['REDIS_CA_FILE', 'must be one or more certificates in PEM', ({ key }) => ({ REDIS_CA_FILE: '/it', it: key })],
    ['REDIS_CA', 'must be one or more certificates in PEM', ({ cert }) => ({ REDIS_CA: cert.replace('MI', 's3') })],
    ['REDIS_KEY', 'must be a private key in PEM, without a passphrase', ({ cert }) => ({ REDIS_KEY: cert })],
    ['REDIS_KEY', 'missing: a certificate is no use without its key', ({ cert }) => ({ REDIS_CERT: cert })],
    ['REDIS_CERT', 'missing: a key is no use without its certificate', ({ key }) => ({ REDIS_KEY: key })],
    ['REDIS_KEY', 'is not the key of the certificate', ({ cert, other }) => ({ REDIS_CERT: cert, REDIS_KEY: other })],
    [
      'REDIS_KEY_FILE',
      'is not the key of the certificate',
      ({ cert, other }) => ({ REDIS_CERT: cert, REDIS_KEY_FILE: '/it', it: other }),
    ],
  ])(
    'the error of an unusable TLS setting names the variable and the problem: %s: %s',
    async (field, message, make) => {
      const authority = await createAuthority();
      const { cert, key } = await authority.issue('DNS:worker');
      const { it, ...env } = make({ cert, key, other: authority.key });
      const source = sourceOf({ ...URL, ...env }, it === undefined ? {} : { '/it': it });
      const { errors } = checkSettings(source);
      expect(errors).toMatchObject([{ code: 'invalid_config', field, message: `${field}: ${message}` }]);
      expect(JSON.stringify(errors)).not.toContain('s3cret');
      expect(() => readConfig(source.env, source.readFile)).toThrow(message);
    },
  );

  test.each([{ REDIS_URL: 'redis://redis.example' }, {}])(
    'checkSettings warns about TLS settings that have no effect with the settings %j',
    async (env) => {
      const { cert } = await createAuthority();
      const source = sourceOf({ ...env, REDIS_CA: cert, REDIS_SERVER_NAME: 'redis' });
      expect(checkSettings(source)).toEqual({
        errors: [],
        warnings: [
          'REDIS_CA: no effect, because REDIS_URL does not begin with rediss (TLS)',
          'REDIS_SERVER_NAME: no effect, because REDIS_URL does not begin with rediss (TLS)',
        ],
      });
    },
  );
});
