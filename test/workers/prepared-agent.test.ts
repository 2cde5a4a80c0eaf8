import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/domain/agent.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { SCRIPTED_PROFILE, scriptedModel } from '../../src/providers/scripted.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { prepareAgent } from '../../src/workers/prepared-agent.ts';

const prepare = (...names: string[]) => prepareWith({}, ...names);

const prepareWith = (options: { readonly recall?: boolean }, ...names: string[]) => {
  const tools = names.map((name) => defineTool({ name, description: 'Reads.', input: z.object({}) }));
  const agent = { name: 'guide', system: '', tools, policy: {}, model: scriptedModel({ steps: [] }), ...options };
  return prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
};

const prepareInputs = (...inputs: z.ZodType[]) => {
  const tools = inputs.map((input, index) => defineTool({ name: `t${index}`, description: '', input }));
  const agent = { name: 'guide', system: '', tools, policy: {}, model: scriptedModel({ steps: [] }) };
  return prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
};

test.each<[string, string[], string]>([
  ['illegal characters', ['read', 'files.read'], 'agents.guide.tools[1].name'],
  ['no characters', [''], 'agents.guide.tools[0].name'],
  ['more than 64 characters', ['x'.repeat(65)], 'agents.guide.tools[0].name'],
  ['that of another tool', ['read', 'write', 'read'], 'agents.guide.tools[2].name'],
])('prepareAgent refuses an agent with a tool name of this kind: %s', async (_case, names, field) => {
  await expect(prepare(...names)).rejects.toMatchObject({ code: 'invalid_config', field });
});

test('prepareAgent accepts tool names of letters, digits, underscores and hyphens', async () => {
  await expect(prepare('read', 'Read-2', 'x'.repeat(64))).resolves.toMatchObject({ tools: [{}, {}, {}] });
});

const add = z.object({ op: z.literal('add'), a: z.number() });
const not = z.object({ op: z.literal('not'), a: z.boolean() });

test.each<[string, z.ZodType, string]>([
  ['one of several objects, by a field', z.discriminatedUnion('op', [add, not]), 'oneOf'],
  ['one of several objects', z.union([add, not]), 'anyOf'],
  ['an object or nothing', add.nullable(), 'anyOf'],
  ['never anything', z.never(), 'not'],
  ['one of several texts', z.enum(['add', 'not']), 'enum'],
  ['a text', z.string(), 'string'],
  ['a list', z.array(add), 'array'],
])(
  'prepareAgent refuses a tool whose input is %s, because providers would refuse every request with that tool',
  async (_case, input, word) => {
    const field = 'agents.guide.tools[1].input';
    const refused = prepareInputs(z.object({}), input);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_config', field });
    await expect(refused).rejects.toThrow(word);
  },
);

test('prepareAgent accepts a tool whose input object contains a union, a reference to itself or a transform', async () => {
  const wrapped = z.object({ operation: z.discriminatedUnion('op', [add, not]) });
  const tree = z.object({
    get children() {
      return z.array(tree);
    },
  });
  const read = add.refine(({ a }) => a > 0).transform(({ a }) => String(a));
  const { tools } = await prepareInputs(wrapped, tree, read, z.record(z.string(), z.number()), z.unknown());
  expect(tools.map(({ parameters }) => parameters['type'])).toEqual([
    'object',
    'object',
    'object',
    'object',
    undefined,
  ]);
});

test('prepareAgent appends pins to the system prompt, counts them, and refuses pins larger than maxTokens allows', async () => {
  const prepareWithPins = (system: string, policy: PolicyInput) => {
    const agent = { name: 'guide', system, tools: [], policy, model: scriptedModel({ steps: [] }) };
    return prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
  };
  const plain = await prepareWithPins('You guide.', {});
  const pinned = await prepareWithPins('You guide.', { pins: ['Be brief.', 'Be kind.'] });
  expect(pinned.system).toBe('You guide.\n\nBe brief.\n\nBe kind.');
  expect((await prepareWithPins('', { pins: ['Be brief.'] })).system).toBe('Be brief.');
  const { pinTokens = 0 } = pinned.overhead;
  expect(pinTokens).toBeGreaterThan(5);
  expect(pinned.overhead.tokens).toBe(plain.overhead.tokens + pinTokens);
  expect(pinned.overhead.bytes).toBe(pinned.system.length);
  expect(pinned.overhead.fingerprint).not.toBe(plain.overhead.fingerprint);
  expect([...pinned.texts]).toEqual([
    [pinned.hashes.system, 'You guide.'],
    [pinned.hashes.pins, '["Be brief.","Be kind."]'],
  ]);
  const tooLarge = prepareWithPins('You guide.', { maxTokens: 20, pins: [' word'.repeat(30)] });
  await expect(tooLarge).rejects.toMatchObject({ code: 'invalid_policy', field: 'maxTokens' });
  await expect(tooLarge).rejects.toThrow(/pins 3\d = /);
});

test('prepareAgent refuses more than 128 tools for an OpenAI model', async () => {
  const prepareFor = (format: WireFormat | undefined, count: number, recall = false) => {
    const tools = Array.from({ length: count }, (_, index) =>
      defineTool({ name: `t${index}`, description: '', input: z.object({}) }),
    );
    const model = scriptedModel({ steps: [], profile: { ...SCRIPTED_PROFILE, ...(format && { format }) } });
    const agent = { name: 'guide', system: '', tools, policy: {}, model, recall };
    return prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
  };
  for (const format of ['openai-chat', 'openai-responses'] as const) {
    await expect(prepareFor(format, 128)).resolves.toBeDefined();
    const refusal = { code: 'invalid_config', field: 'agents.guide.tools' };
    await expect(prepareFor(format, 129)).rejects.toMatchObject(refusal);
    await expect(prepareFor(format, 128, true)).rejects.toMatchObject(refusal);
  }
  await expect(prepareFor('anthropic', 200)).resolves.toBeDefined();
  await expect(prepareFor(undefined, 200)).resolves.toBeDefined();
});

test('prepareAgent describes the built-in recall tool only to agents that enable it, and reserves its name there', async () => {
  const without = await prepareWith({}, 'read', 'recall');
  expect(without.tools.map(({ name }) => name)).toEqual(['read', 'recall']);
  expect(without.recall).toBeUndefined();
  const plain = await prepareWith({}, 'read');
  const given = await prepareWith({ recall: true }, 'read');
  expect(given.tools.map(({ name }) => name)).toEqual(['read', 'recall']);
  expect(Object.keys(given.tools[1]?.parameters['properties'] ?? {})).toEqual([
    'query',
    'from',
    'to',
    'ref',
    'offset',
    'limit',
  ]);
  expect(given.overhead.tokens).toBeGreaterThan(plain.overhead.tokens + 100);
  const field = 'agents.guide.tools[1].name';
  const message = `${field}: the built-in recall tool already has the name "recall". Rename this tool`;
  const refused = prepareWith({ recall: true }, 'read', 'recall');
  await expect(refused).rejects.toMatchObject({ code: 'invalid_config', field, message });
});

test.each([
  [{ toolRefusal: 'model-1 calls tools only through the Responses API' }, 'Responses API'],
  [{ abilities: { tools: false } }, 'calls no tools'],
])('prepareAgent refuses an agent with tools for a model that cannot call tools', async (changes, says) => {
  const { model, ...agent } = { name: 'guide', system: '', policy: {}, model: scriptedModel({ steps: [] }) };
  const able = { ...model, profile: { ...model.profile, ...changes } };
  const tools = [defineTool({ name: 'read', description: '', input: z.object({}) })];
  const surroundings = { loadCounter: loadTokenCounter };
  await expect(prepareAgent({ ...agent, model: able, tools: [] }, {}, surroundings)).resolves.toBeDefined();
  const refused = prepareAgent({ ...agent, model: able, tools }, {}, surroundings);
  await expect(refused).rejects.toMatchObject({ code: 'invalid_config', field: 'agents.guide.model' });
  await expect(refused).rejects.toThrow(says);
});

test('prepareAgent counts tokens with the factor of the model’s profile until a provider count is known', async () => {
  const profile = { ...SCRIPTED_PROFILE, tokenFactor: 1.6 };
  const agent = {
    name: 'guide',
    system: '',
    tools: [],
    policy: {},
    model: { ...scriptedModel({ steps: [] }), profile },
  };
  const { overhead } = await prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
  expect(overhead.calibration).toBe(1.6);
});

test('withSystem counts a prompt again after an earlier count of this prompt failed', async () => {
  const counter = await loadTokenCounter('o200k_base');
  let fails = false;
  const loadCounter = () =>
    Promise.resolve({
      ...counter,
      count: (text: string) => (fails ? Promise.reject(new Error('no memory')) : counter.count(text)),
    });
  const agent = { name: 'guide', system: '', tools: [], policy: {}, model: scriptedModel({ steps: [] }) };
  const prepared = await prepareAgent(agent, {}, { loadCounter });
  fails = true;
  await expect(prepared.withSystem('Be brief.')).rejects.toThrow('no memory');
  fails = false;
  await expect(prepared.withSystem('Be brief.')).resolves.toBeDefined();
});
