import { expect, test } from 'vitest';
import { z } from 'zod';
import { EFFORTS, THINKING_TYPES } from '../../src/domain/model-options.ts';
import { pricesAt, priceUsage } from '../../src/domain/usage.ts';
import { CATALOGUE, CATALOGUE_DATA, findProfile } from '../../src/providers/catalogue/catalogue.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';

const tokens = z.number().int().min(1);
const price = z.number().gt(0);
const prices = { input: price, cachedInput: price, cacheWrite: price, output: price };
const day = z.iso.date();

const profileSchema = z.strictObject({
  encoding: z.enum(['o200k_base', 'cl100k_base']),
  windowTokens: tokens,
  outputCapTokens: tokens,
  upperBoundFactor: z.number().min(1),
  tokenFactor: z.number().min(1).max(2).optional(),
  maxRequestBytes: tokens.optional(),
  prices: z.strictObject({
    ...prices,
    steps: z.array(z.strictObject({ aboveInputTokens: tokens, ...prices })).optional(),
  }),
  retiresOn: day.optional(),
  habits: z.strictObject({ takesLaterSystem: z.boolean() }).optional(),
  abilities: z.strictObject({
    thinking: z.array(z.enum(THINKING_TYPES)).min(1).optional(),
    defaultThinking: z.enum(['off', 'adaptive']).optional(),
    efforts: z.array(z.enum(EFFORTS)).optional(),
    defaultEffort: z.enum(EFFORTS).optional(),
    maxEffortWithoutThinking: z.enum(EFFORTS).optional(),
    sampling: z.enum(['always', 'without_thinking', 'never']).optional(),
    tools: z.boolean().optional(),
    forcedTools: z.boolean().optional(),
    chatTools: z.enum(['always', 'without_reasoning', 'never']).optional(),
    structured: z.boolean().optional(),
    inputs: z.array(z.enum(['image', 'pdf'])).optional(),
  }),
});

test.each([...CATALOGUE])('the catalogue has complete and consistent facts about %s', (_, profile) => {
  const read = profileSchema.safeParse(profile);
  expect(read.error).toBeUndefined();
  const { abilities = {} } = read.data ?? {};
  const { thinking, defaultThinking, efforts, defaultEffort } = abilities;
  if (thinking !== undefined) expect(thinking).toContain(defaultThinking);
  if (efforts?.length && defaultEffort !== undefined) expect(efforts).toContain(defaultEffort);
});

test('each model of the catalogue names its sources, and the catalogue states the day when they were read', () => {
  expect(day.safeParse(CATALOGUE_DATA.readOn).success).toBe(true);
  for (const [name, { sources, family }] of Object.entries(CATALOGUE_DATA.models)) {
    expect(
      sources.filter((source) => CATALOGUE_DATA.sources[source] === undefined),
      name,
    ).toEqual([]);
    expect(sources.length, name).toBeGreaterThan(0);
    expect(CATALOGUE_DATA.families, name).toHaveProperty(family);
  }
});

test('a request larger than the limit of a price step costs the higher price for all its tokens', () => {
  const { prices: haiku } = findProfile('anthropic', 'claude-haiku-5-5');
  const usage = { output: 1_000_000, outputKept: 0 };
  expect(priceUsage(haiku ?? fail(), { ...usage, inputTotal: 100_000 })).toBeCloseTo(0.01 + 0.5);
  expect(priceUsage(haiku ?? fail(), { ...usage, inputTotal: 200_000 })).toBeCloseTo(0.1 + 2.5);
  const { prices: sol } = findProfile('openai', 'gpt-6.1-sol');
  expect(pricesAt(sol ?? fail(), 272_000)).toMatchObject({ input: 2, cachedInput: 0.1, output: 10 });
  expect(pricesAt(sol ?? fail(), 272_001)).toMatchObject({ input: 4, cachedInput: 0.2, output: 15 });
});

test('a model chain has the highest price among its models for each request size', () => {
  const models = ['anthropic/claude-haiku-5-5', 'openai/gpt-6-luna'].map((name) => {
    const [provider = '', model = ''] = name.split('/');
    return { ...scriptedModel({ steps: [] }), profile: findProfile(provider, model) };
  });
  const { prices: chain } = modelChain([models[0] ?? fail(), ...models.slice(1)]).profile;
  expect(pricesAt(chain ?? fail(), 50_000)).toMatchObject({ input: 0.1, cacheWrite: 0.125, output: 0.5 });
  expect(pricesAt(chain ?? fail(), 150_000)).toMatchObject({ input: 0.5, output: 2.5 });
  expect(pricesAt(chain ?? fail(), 300_000)).toMatchObject({ input: 0.5, output: 2.5 });
});

function fail(): never {
  throw new Error('the model has no prices');
}
