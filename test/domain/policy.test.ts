import { describe, expect, test } from 'vitest';
import type { EvictionStrategy } from '../../src/domain/eviction-strategy.ts';
import { completePolicy, idleTtlOf, mergePolicies, POLICY_DEFAULTS } from '../../src/domain/policy.ts';
import { readPolicy } from '../../src/domain/policy-input.ts';
import { hostileProxy, withGetter } from '../fakes/hostile-values.ts';
import { errorOf } from './error-of.ts';

/** Nests `{min: [{min: [… {evict: 0.5} …]}]}` to a depth. */
function nestStrategy(depth: number): EvictionStrategy {
  return depth === 0 ? { evict: 0.5 } : { min: [nestStrategy(depth - 1)] };
}

/** Result of a YAML anchor inside itself: `strategy: &x {min: [*x]}`. */
function cyclicStrategy(): EvictionStrategy {
  const min: EvictionStrategy[] = [];
  const strategy = { min };
  min.push(strategy);
  return strategy;
}

describe('mergePolicies', () => {
  test('mergePolicies takes each setting of the later policy and keeps the others', () => {
    const base = { retentionWindow: 4, maxTokens: 1_000, strategy: { retain: 3 } };
    const merged = mergePolicies(base, { retentionWindow: 0 }, { strategy: { evict: 0.5 } });
    expect(merged).toStrictEqual({ retentionWindow: 0, maxTokens: 1_000, strategy: { evict: 0.5 } });
    expect(base.retentionWindow).toBe(4);
  });

  test('mergePolicies treats an undefined setting as absent', () => {
    const absent = { maxTokens: undefined, retentionWindow: undefined, minGain: undefined } as object;
    expect(mergePolicies({ maxTokens: 9 }, absent)).toStrictEqual({ maxTokens: 9 });
    expect(completePolicy(absent)).toStrictEqual({ ...POLICY_DEFAULTS });
  });

  test('mergePolicies treats false and 0 as set values', () => {
    const merged = completePolicy(mergePolicies({}, { enabled: false, retentionWindow: 0, minGain: 0 }));
    expect(merged).toMatchObject({ enabled: false, retentionWindow: 0, minGain: 0 });
  });

  test('a policy without settings has the documented defaults, and thresholds without a default are off', () => {
    expect(completePolicy({})).toStrictEqual({
      thresholdRatio: 0.85,
      hardRatio: 0.92,
      onTurnEnd: false,
      retentionWindow: 6,
      reviewTtl: 604_800_000,
      cacheTtl: '5m',
      keepPrefix: 0,
      scope: 'sequences',
      strategy: { min: [{ evict: 0.6 }, { retain: 10 }] },
      keepFirstUser: true,
      maskToolResults: false,
      summarizer: 'structural',
      budgetShares: { users: 0.2, summaries: 0.6 },
      pins: [],
      minSequenceMessages: 2,
      minSequenceTokens: 256,
      minGain: 0.1,
      mode: 'auto',
      enabled: true,
    });
  });
});

test('a policy with the compaction of a provider needs no `scope`, and a stored `scope` still counts', () => {
  expect(completePolicy({ summarizer: 'native' }).scope).toBe('prefix');
  expect(completePolicy({ summarizer: 'native', scope: 'sequences' }).scope).toBe('sequences');
  expect(completePolicy({ scope: 'prefix' }).scope).toBe('prefix');
});

describe('readPolicy', () => {
  test('readPolicy accepts camelCase and snake_case, under `compact` or not', () => {
    const camel = { maxTokens: 9_000, summarizer: { models: ['m'], maxTokens: 100 } };
    const snake = { max_tokens: 9_000, summarizer: { models: ['m'], max_tokens: 100 } };
    for (const value of [camel, snake, { compact: camel }, { compact: snake }]) {
      expect(readPolicy(value)).toStrictEqual({ policy: camel, warnings: [] });
    }
  });

  test('readPolicy accepts options of a summarizer model in both spellings, and leaves extra fields as they are', () => {
    const model = { model: 'a/b', maxOutputTokens: 900, thinking: { type: 'budget', budgetTokens: 2_048 } };
    const models = [{ ...model, extraBody: { top_k: 1 } }, 'c/d'];
    const snake = { model: 'a/b', max_output_tokens: 900, thinking: { type: 'budget', budget_tokens: 2_048 } };
    const written = [{ ...snake, extra_body: { top_k: 1 } }, 'c/d'];
    for (const given of [models, written]) {
      expect(readPolicy({ summarizer: { models: given } }).policy).toStrictEqual({ summarizer: { models } });
    }
  });

  test('readPolicy accepts every setting and nested strategies', () => {
    const value = {
      max_tokens: 9_000,
      token_threshold: 10_000,
      threshold_ratio: 0.8,
      hard_ratio: 0.9,
      turn_threshold: 3,
      message_threshold: 30,
      on_turn_end: true,
      retention_window: 0,
      strategy: { max: [{ min: [{ evict: 0.2 }, { retain: 0 }] }, { evict: 1 }] },
      keep_first_user: false,
      mask_tool_results: true,
      summarizer: 'structural',
      min_sequence_messages: 1,
      min_sequence_tokens: 0,
      min_gain: 0,
      mode: 'review',
      enabled: false,
      conversation_ttl: 60_000,
    };
    const { policy } = readPolicy(value);
    expect(Object.keys(policy)).toHaveLength(Object.keys(value).length);
    expect(policy).toMatchObject({ onTurnEnd: true, strategy: value.strategy, conversationTtl: 60_000 });
  });

  test.each([null, undefined, {}, { compact: null }])('readPolicy reads %j as a policy without settings', (value) => {
    expect(readPolicy(value)).toStrictEqual({ policy: {}, warnings: [] });
  });

  test('readPolicy warns about the retired setting `transforms` and names `compact` instead', () => {
    const { policy, warnings } = readPolicy({ transforms: ['middle-out'], compact: { max_tokens: 5 } });
    expect(policy).toStrictEqual({ maxTokens: 5 });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('`compact`');
    expect(readPolicy({ transforms: null, max_tokens: 5 }).warnings).toHaveLength(1);
    expect(readPolicy({ compact: { transforms: [] } }).warnings).toHaveLength(1);
  });

  test('readPolicy refuses a strategy nested more than four levels deep, e.g. one that contains itself', () => {
    expect(readPolicy({ strategy: nestStrategy(4) }).policy.strategy).toStrictEqual(nestStrategy(4));
    for (const strategy of [nestStrategy(5), nestStrategy(5_000), cyclicStrategy()]) {
      const error = errorOf(() => readPolicy({ strategy }));
      expect(error).toMatchObject({ code: 'invalid_policy', field: 'strategy' });
      expect(error.message).toMatch(/nested at most 4 levels deep/);
    }
  });

  test('readPolicy refuses a policy that throws when it is read or contains itself, and names the field', () => {
    const cyclic: { compact?: object } = {};
    cyclic.compact = cyclic;
    const throwing = withGetter('models');
    const refused = [cyclic, { summarizer: throwing }, hostileProxy()].map((value) => errorOf(() => readPolicy(value)));
    expect(refused).toMatchObject([
      { code: 'invalid_policy', field: 'policy' },
      { code: 'invalid_policy', field: 'summarizer.models' },
      { code: 'invalid_policy', field: 'policy' },
    ]);
  });

  test.each<{ value: unknown; at?: string; field: string; why: RegExp }>([
    { value: { maxTokens: 0 }, field: 'maxTokens', why: /at least 1$/ },
    { value: { compact: { max_tokens: 1.5 } }, field: 'compact.max_tokens', why: /a whole number/ },
    { value: { thresholdRatio: 0 }, field: 'thresholdRatio', why: /more than 0/ },
    { value: { hardRatio: 1.01 }, field: 'hardRatio', why: /at most 1/ },
    { value: { minGain: 1 }, field: 'minGain', why: /less than 1/ },
    { value: { retentionWindow: -1 }, field: 'retentionWindow', why: /at least 0/ },
    { value: { retentionWindow: Number.NaN }, field: 'retentionWindow', why: /./ },
    { value: { strategy: { evict: 0 } }, field: 'strategy.evict', why: /./ },
    { value: { strategy: { evict: 0.5, retain: 3 } }, field: 'strategy', why: /one of evict, retain, min, max/ },
    { value: { strategy: { min: [] } }, field: 'strategy.min', why: /./ },
    { value: { pins: 'one' }, field: 'pins', why: /a list/ },
    { value: { pins: ['one', ' \n'] }, field: 'pins[1]', why: /more than blanks/ },
    { value: { pins: ['\ud83d'] }, field: 'pins[0]', why: /surrogate/ },
    { value: { mode: 'off' }, field: 'mode', why: /auto/ },
    { value: { enabled: 'yes' }, field: 'enabled', why: /true or false/ },
    { value: { summarizer: { models: [] } }, field: 'summarizer.models', why: /./ },
    {
      value: { summarizer: { models: [{ model: 'a/b', apiKey: 's3cret' }] } },
      field: 'summarizer.models[0].apiKey',
      why: /./,
    },
    { value: { eviction_window: 0.2 }, field: 'eviction_window', why: /a policy has no such setting/ },
    { value: { compact: { evictionWindow: 1 } }, field: 'compact.evictionWindow', why: /no such setting/ },
    { value: { constructor: 1 }, field: 'constructor', why: /no such setting/ },
    { value: { toString: 1 }, field: 'toString', why: /no such setting/ },
    { value: JSON.parse('{"__proto__": {"enabled": false}}'), field: '__proto__', why: /no such setting/ },
    { value: { max_tokens: 5, maxTokens: 6 }, field: 'max_tokens', why: /set twice/ },
    { value: { max_tokens: 5, maxTokens: 6 }, at: 'agents.a', field: 'agents.a.max_tokens', why: /set twice/ },
    {
      value: { compact: { summarizer: { models: ['m'], max_tokens: 50, maxTokens: 60 } } },
      field: 'compact.summarizer.max_tokens',
      why: /set twice/,
    },
    { value: { compact: {}, maxTokens: 5 }, field: 'maxTokens', why: /outside of `compact`/ },
    { value: { compact: {}, maxTokens: 5 }, at: 'agents.a', field: 'agents.a.maxTokens', why: /outside of `compact`/ },
    { value: [], field: '', why: /^policy: expected an object/ },
    { value: 'compact', field: '', why: /expected an object/ },
    { value: { compact: 3 }, field: 'compact', why: /^compact: expected an object/ },
  ])('readPolicy refuses the policy $value and names the field "$field"', ({ value, at, field, why }) => {
    const error = errorOf(() => readPolicy(value, at));
    expect(error).toMatchObject({ code: 'invalid_policy', field });
    expect(error.message).toMatch(why);
  });
});

test('a write under a policy without an idle TTL removes the earlier idle TTL, and a write without a policy keeps it', () => {
  expect(idleTtlOf(completePolicy({ conversationTtl: 60_000 }))).toEqual({ conversationTtl: 60_000 });
  expect(idleTtlOf(completePolicy({}))).toEqual({ conversationTtl: 0 });
  expect(idleTtlOf(undefined)).toEqual({});
});

test('readPolicy refuses an idle TTL of less than a second', () => {
  expect(errorOf(() => readPolicy({ conversationTtl: 999 }))).toMatchObject({ field: 'conversationTtl' });
});

test('readPolicy refuses a policy that is too large or contains itself, and names the field', () => {
  const loop: Record<string, unknown> = {};
  loop['strategy'] = loop;
  const large = { pins: ['x'.repeat(10_000_001)] };
  for (const value of [loop, large]) {
    for (const at of ['', 'agent.policy']) {
      const error = errorOf(() => readPolicy(value, at));
      expect(error).toMatchObject({ code: 'invalid_policy' });
      expect(error.message).toContain(at === '' ? ': ' : at);
    }
  }
});
