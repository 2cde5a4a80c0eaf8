import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { POLICY_DEFAULTS, policyInputSchema } from '../../src/domain/policy.ts';
import { examinePolicy } from '../../src/domain/policy-input.ts';
import { checkSettings } from '../../src/host/config/check-settings.ts';
import {
  type DescribedSchema,
  describeSettings,
  showSettings,
  tabulateSettings,
} from '../../src/host/config/describe-settings.ts';
import { describePolicySchema } from '../../src/host/config/policy-schema.ts';
import type { SettingSource } from '../../src/host/config/read-setting.ts';
import { SETTING_NAMES } from '../../src/host/config/settings.ts';
import { readConfig, readProviderSettings } from '../../src/host/config.ts';

const files: Readonly<Record<string, string>> = { '/run/redis': 'redis://:s3cret@redis:6380/2\n', '/run/empty': ' \n' };

function sourceOf(env: Readonly<Record<string, string>>): SettingSource {
  return {
    env,
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw new Error(`ENOENT ${path}`);
      return text;
    },
  };
}

describe('a secret may come from a file', () => {
  test('readConfig reads an address with a password from a file', () => {
    const { env, readFile } = sourceOf({ REDIS_URL_FILE: '/run/redis' });
    expect(readConfig(env, readFile).redisUrl).toBe('redis://:s3cret@redis:6380/2');
  });

  test('an environment variable takes precedence over its `_FILE` variable, and a warning names the ignored file', () => {
    const source = sourceOf({ REDIS_URL: 'redis://other', REDIS_URL_FILE: '/run/nowhere' });
    expect(readConfig(source.env, source.readFile).redisUrl).toBe('redis://other');
    expect(checkSettings(source)).toEqual({
      errors: [],
      warnings: ['REDIS_URL_FILE: ignored, because REDIS_URL is set too'],
    });
  });

  test.each([
    ['/run/nowhere', 'REDIS_URL_FILE: cannot read the file that this variable names'],
    ['/run/empty', 'REDIS_URL_FILE: the file that this variable names is empty'],
  ])('a setting from the file %s is refused: %s', (path, message) => {
    expect(checkSettings(sourceOf({ REDIS_URL_FILE: path })).errors).toMatchObject([
      { code: 'invalid_config', field: 'REDIS_URL_FILE', message },
    ]);
  });

  test('readConfig ignores a file for a setting that is no secret', () => {
    expect(readConfig({ TURNFOLD_SHARDS_FILE: '/run/nowhere' }).shards).toBe(256);
  });
});

test('checkSettings reports all problems and unknown settings, without their values', () => {
  const report = checkSettings(
    sourceOf({
      REDIS_URL: 'http://:s3cret@host',
      TURNFOLD_SHARDS: 's3cret',
      OPENAI_BASE_URL: 's3cret',
      TURNFOLD_TURN_CONCURENCY: '5',
      OTHER: 'x',
    }),
  );
  expect(report.errors.map(({ field }) => field)).toEqual(['REDIS_URL', 'TURNFOLD_SHARDS', 'OPENAI_BASE_URL']);
  expect(report.warnings).toEqual(['TURNFOLD_TURN_CONCURENCY: unknown setting']);
  expect(JSON.stringify(report)).not.toContain('s3cret');
});

test('showSettings shows each setting with its origin, and masks secrets', () => {
  const shown = showSettings(
    sourceOf({
      REDIS_URL_FILE: '/run/redis',
      TURNFOLD_SHARDS: '16',
      TURNFOLD_LOG_LEVEL: 's3cret',
      ANTHROPIC_API_KEY: 's3cret',
      OPENAI_BASE_URL: 'https://user:s3cret@proxy.example/v1?key=s3cret',
    }),
  );
  expect(shown.map(({ name }) => name)).toEqual(SETTING_NAMES);
  expect(shown).toEqual(
    expect.arrayContaining([
      { name: 'REDIS_URL', value: 'redis://***@redis:6380/2', origin: 'file' },
      { name: 'TURNFOLD_SHARDS', value: '16', origin: 'env' },
      { name: 'TURNFOLD_QUEUE_SHARDS', value: '1', origin: 'default' },
      { name: 'TURNFOLD_LOG_LEVEL', origin: 'env', problem: expect.stringContaining('must be one of') },
      { name: 'ANTHROPIC_API_KEY', value: '***', origin: 'env' },
      { name: 'OPENAI_API_KEY', origin: 'default' },
      { name: 'OPENAI_BASE_URL', value: 'https://***@proxy.example/v1', origin: 'env' },
    ]),
  );
  expect(JSON.stringify(shown)).not.toContain('s3cret');
});

/** Validates a value as an editor does with a JSON Schema. */
function doesFit(schema: DescribedSchema, value: unknown): boolean {
  return z.fromJSONSchema(schema).safeParse(value).success;
}

describe('the JSON Schema of the environment', () => {
  test.each<[boolean, Record<string, unknown>]>([
    [true, { REDIS_URL: 'redis://redis', TURNFOLD_SHARDS: 16, PATH: '/bin' }],
    [true, { TURNFOLD_SHARDS: '16', OPENAI_API_KEY_FILE: '/run/secrets/key' }],
    [false, { TURNFOLD_SHARDS: 0 }],
    [false, { TURNFOLD_SHARDS: 'many' }],
    [false, { TURNFOLD_LOG_LEVEL: 'loud' }],
    [false, { TURNFOLD_TURN_CONCURENCY: 5 }],
  ])('validation by the JSON Schema of the environment returns %s for the variables %j', (isFine, env) => {
    expect(doesFit(describeSettings(), env)).toBe(isFine);
  });

  test('the JSON Schema of the environment describes every setting', () => {
    const { properties = {} } = describeSettings();
    for (const name of SETTING_NAMES) expect(properties[name]).toMatchObject({ description: expect.any(String) });
  });
});

describe('the JSON Schema of a policy', () => {
  test.each([
    { max_tokens: 500, tokenThreshold: 900 },
    { compact: { maxTokens: 500, strategy: { min: [{ evict: 0.5 }, { retain: 4 }] } } },
    { summarizer: { models: ['openai/gpt-5'], max_tokens: 200 }, on_turn_end: true },
    { summarizer: 'structural', transforms: ['window'] },
    { maxToken: 500 },
    { max_tokens: 'many' },
    { compact: { maxTokens: 500 }, maxTokens: 500 },
    { strategy: { evict: 2 } },
    { summarizer: { models: ['a'], maxToken: 200 } },
    { mode: 'sometimes' },
  ])('the JSON Schema of a policy accepts or refuses %j like the policy reader', (policy) => {
    expect(doesFit(describePolicySchema(), policy)).toBe(examinePolicy(policy).problems.length === 0);
  });

  test('the JSON Schema of a policy describes every setting and its default', () => {
    const policy = describePolicySchema().$defs?.['policy'] as DescribedSchema;
    const { properties = {} } = policy;
    for (const name of Object.keys(policyInputSchema.shape)) {
      expect(properties[name]).toMatchObject({ description: expect.any(String) });
    }
    for (const [name, value] of Object.entries(POLICY_DEFAULTS)) {
      expect(properties[name]).toMatchObject({ default: value });
    }
  });
});

test('examinePolicy reports all problems of a policy in the order in which the policy is read', () => {
  const { problems } = examinePolicy({
    compact: { max_tokens: 'many', maxTokens: 5, hardRatio: 3, tokens: 1, summarizer: { models: [], model: 'x' } },
    pins: [],
  });
  expect(problems.map(({ field }) => field)).toEqual([
    'pins',
    'compact.max_tokens',
    'compact.tokens',
    'compact.hardRatio',
    'compact.summarizer.models',
    'compact.summarizer.model',
  ]);
});

test('docs/reference/configuration.md is up to date with the settings in the code (node scripts/write-configuration.ts writes it)', () => {
  const doc = readFileSync(new URL('../../docs/reference/configuration.md', import.meta.url), 'utf8');
  expect(doc).toContain(tabulateSettings());
});

test('readProviderSettings reads an API key from a file', () => {
  const { env, readFile } = sourceOf({ OPENAI_API_KEY_FILE: '/run/redis' });
  expect(readProviderSettings(env, readFile).openai.apiKey).toContain('s3cret');
});
