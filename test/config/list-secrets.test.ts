import { expect, test } from 'vitest';
import { showSettings } from '../../src/host/config/describe-settings.ts';
import { listSecrets } from '../../src/host/config/list-secrets.ts';

const readFile = (path: string): string => `of ${path}\n`;

test('listSecrets lists keys and passwords from variables and files, and nothing else', () => {
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
  ['hunter@2024secret', ['hunter@2024secret']],
  ['of:redis@and@more', ['of:redis@and@more']],
])('listSecrets lists the password %s as written and decoded', (password, secrets) => {
  expect(listSecrets({ env: { REDIS_URL: `redis://bob:${password}@127.0.0.1:6379` }, readFile })).toEqual(secrets);
});

test.each([
  ['redis+cluster://bob:pass-of-redis@one:6379,two:6379', ['pass-of-redis']],
  ['redis://bob@corp:pass-of-redis@one', ['pass-of-redis']],
  ['redis://one:6379/0?password=pass%20of@redis', ['pass%20of@redis', 'pass of@redis']],
  ['redis://:pass-of-redis@one?password=another-one', ['pass-of-redis', 'another-one']],
])('listSecrets lists the secrets of the address %s', (address, secrets) => {
  expect(listSecrets({ env: { REDIS_URL: address }, readFile })).toEqual(secrets);
});

test.each([
  ['api_key=key-of-proxy', ['key-of-proxy']],
  ['api-version=2024-10-21&code=a%2Bb=c', ['2024-10-21', 'a%2Bb=c', 'a+b=c']],
  ['key-of-proxy', ['key-of-proxy']],
  ['a=one+two#here', ['one+two']],
  ['a=&&b', ['b']],
])('listSecrets lists the values of the query %s, which showSettings masks', (query, secrets) => {
  const env = { OPENAI_BASE_URL: `https://proxy.local:8443/v1?${query}` };
  expect(listSecrets({ env, readFile })).toEqual(secrets);
  expect(showSettings({ env, readFile }).find(({ name }) => name === 'OPENAI_BASE_URL')?.value).toBe(
    'https://proxy.local:8443/v1',
  );
});

test('listSecrets treats an API key that contains a question mark as one secret, not as an address', () => {
  expect(listSecrets({ env: { OPENAI_API_KEY: 'key-of?proxy=1' }, readFile })).toEqual(['key-of?proxy=1']);
});

test('listSecrets finds nothing in an address without a password', () => {
  expect(listSecrets({ env: { REDIS_URL: 'redis://127.0.0.1:6379' }, readFile })).toEqual([]);
  expect(listSecrets({ env: {}, readFile })).toEqual([]);
});
