import { expect, test } from 'vitest';
import { listSecrets } from '../../src/config/list-secrets.ts';

const readFile = (path: string): string => `of ${path}\n`;

test('keys, and passwords of addresses, from variables and files; nothing that is no secret', () => {
  const env = {
    REDIS_URL: 'redis+sentinel://bob:pass-of-redis@one:26379,two:26379/main',
    ANTHROPIC_API_KEY: 'key-of-anthropic',
    OPENAI_API_KEY_FILE: '/run/secrets/openai',
    OPENAI_BASE_URL: 'https://bob:pass-of-proxy@proxy.local/v1',
    ANTHROPIC_BASE_URL: 'https://proxy.local/v1',
    TURNFOLD_LOG_LEVEL: 'debug',
  };
  expect(listSecrets({ env, readFile }).toSorted()).toEqual([
    'key-of-anthropic',
    'of /run/secrets/openai',
    'pass-of-proxy',
    'pass-of-redis',
  ]);
});

test.each([
  ['pa:ss-of-redis', ['pa:ss-of-redis']],
  ['p%40ss-of-redis', ['p%40ss-of-redis', 'p@ss-of-redis']],
  ['100%-of-redis', ['100%-of-redis']],
])('the password %s, whole and as it is meant', (password, secrets) => {
  expect(listSecrets({ env: { REDIS_URL: `redis://bob:${password}@127.0.0.1:6379` }, readFile })).toEqual(secrets);
});

test('an address without a password, and nothing, hold none', () => {
  expect(listSecrets({ env: { REDIS_URL: 'redis://127.0.0.1:6379' }, readFile })).toEqual([]);
  expect(listSecrets({ env: {}, readFile })).toEqual([]);
});
