import { expect, test } from 'vitest';
import { readProviderSettings } from '../../src/host/config.ts';
import { resolveModel } from '../../src/host/resolve-model.ts';
import { CATALOGUE, extendCatalogue, findProfile } from '../../src/providers/catalogue/catalogue.ts';
import { errorOf } from '../domain/error-of.ts';
import { ask } from '../models/fixture.ts';
import { startProvider } from '../provider/provider.ts';

const settings = readProviderSettings({ ANTHROPIC_API_KEY: 's3cret', OPENAI_API_KEY: 's3cret' });

test.each([
  ['anthropic/claude-sonnet-4-5', 'anthropic'],
  ['openai/gpt-5', 'openai-responses'],
  ['openai-chat/gpt-4o', 'openai-chat'],
])('resolveModel gives the model %s the provider format %s', (name, format) => {
  const { profile } = resolveModel(name, { settings });
  expect(profile).toMatchObject({ id: name.split('/')[1], format });
  expect(profile.windowTokens).toBeGreaterThan(100_000);
});

test('resolveModel gives a dated model name the profile of its model family, under the dated id', () => {
  expect(findProfile('anthropic', 'claude-sonnet-4-5-20250929')).toMatchObject({ id: 'claude-sonnet-4-5-20250929' });
  expect(findProfile('openai', 'gpt-4o-2024-08-06').windowTokens).toBe(128_000);
});

test('resolveModel uses an extended catalogue, and a profile overrides it', () => {
  const own = { encoding: 'o200k_base', windowTokens: 32_768, outputCapTokens: 4_096, upperBoundFactor: 1.2 } as const;
  const catalogue = extendCatalogue({ 'openai/qwen': own });
  expect(resolveModel('openai-chat/qwen', { catalogue, settings }).profile).toMatchObject({ windowTokens: 32_768 });
  expect(CATALOGUE.has('openai/qwen')).toBe(false);
  const { profile } = resolveModel('openai/gpt-5', { settings, profile: { windowTokens: 9_000 } });
  expect(profile.windowTokens).toBe(9_000);
});

test.each([
  ['claude', 'model', 'anthropic/…'],
  ['google/gemini', 'model', 'gemini-3.8-flash'],
  ['nobody/model', 'model', 'anthropic/…'],
  ['openai/nobody', 'model', 'Pass a profile'],
])('resolveModel refuses the model name %s and explains why', (name, field, says) => {
  const error = errorOf(() => resolveModel(name, { settings }));
  expect(error).toMatchObject({ code: 'invalid_config', field });
  expect(error.message).toContain(says);
});

test('resolveModel passes the options of a model, its key and its address to the provider', async () => {
  await using provider = await startProvider({ answers: [{ thinking: 'Hm.', text: 'So.' }], apiKey: 'own' });
  const thinking = { type: 'adaptive' } as const;
  const model = resolveModel('anthropic/claude-sonnet-5-5', {
    settings,
    apiKey: 'own',
    baseUrl: provider.url,
    thinking,
    effort: 'low',
  });
  await model.generate(ask([{ role: 'user', content: 'Hi' }]));
  expect(provider.requests[0]?.body).toMatchObject({ thinking, output_config: { effort: 'low' } });
});

test('resolveModel calls a provider of the catalogue at its address, with the API key from its variable', () => {
  const error = errorOf(() => resolveModel('deepseek/deepseek-v4-pro'));
  expect(error).toMatchObject({ code: 'invalid_config', field: 'DEEPSEEK_API_KEY' });
  const { profile } = resolveModel('deepseek/deepseek-v4-pro', { apiKey: 'own' });
  const renderOptions = { outputCapField: 'max_tokens' };
  expect(profile).toMatchObject({ id: 'deepseek-v4-pro', format: 'openai-chat', renderOptions });
});

test('resolveModel finds the maker’s profile of a model behind a gateway', () => {
  const { profile } = resolveModel('openai-chat/deepseek/deepseek-v4-pro', { settings });
  expect(profile).toMatchObject({ id: 'deepseek/deepseek-v4-pro', windowTokens: 1_000_000 });
});

test.each([
  ['an address without http', { baseUrl: 's3cret' }, 'baseUrl'],
  ['an unknown option', { temprature: 1 }, 'temprature'],
  ['a variable that is not set', { apiKeyVariable: 'NOT_SET_KEY' }, 'NOT_SET_KEY'],
])('resolveModel refuses %s and names the field', (_, options, field) => {
  const error = errorOf(() => resolveModel('openai/gpt-6-sol', { settings, ...options }));
  expect(error).toMatchObject({ code: 'invalid_config', field });
  expect(error.message).not.toContain('s3cret');
});

test('the error of resolveModel names the environment variable of a missing API key', () => {
  const error = errorOf(() => resolveModel('openai/gpt-5', { settings: readProviderSettings({}) }));
  expect(error).toMatchObject({ code: 'invalid_config', field: 'OPENAI_API_KEY' });
});

test('resolveModel reads an API key from its variable or its file, and the address from its variable', () => {
  const files: Record<string, string> = { '/run/key': ' k2\n', '/run/empty': '\n' };
  const readFile = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  };
  const env = { ANTHROPIC_API_KEY: ' k1 ', OPENAI_API_KEY_FILE: '/run/key', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' };
  expect(readProviderSettings(env, readFile)).toStrictEqual({
    anthropic: { keyVariable: 'ANTHROPIC_API_KEY', apiKey: 'k1', baseUrl: undefined },
    openai: { keyVariable: 'OPENAI_API_KEY', apiKey: 'k2', baseUrl: 'http://127.0.0.1:1/v1' },
  });
  const refused: [Record<string, string>, string][] = [
    [{ OPENAI_API_KEY_FILE: '/run/nothing' }, 'OPENAI_API_KEY_FILE'],
    [{ ANTHROPIC_API_KEY_FILE: '/run/empty' }, 'ANTHROPIC_API_KEY_FILE'],
    [{ ANTHROPIC_BASE_URL: 's3cret' }, 'ANTHROPIC_BASE_URL'],
  ];
  for (const [given, field] of refused) {
    const error = errorOf(() => readProviderSettings(given, readFile));
    expect(error).toMatchObject({ code: 'invalid_config', field });
    expect(error.message).not.toContain('s3cret');
  }
});
