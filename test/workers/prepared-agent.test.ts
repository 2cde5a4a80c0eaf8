import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { loadTokenCounter } from '../../src/tokens/token-counter.ts';
import { prepareAgent } from '../../src/workers/prepared-agent.ts';

const prepare = (...names: string[]) => prepareWith({}, ...names);

const prepareWith = (options: { readonly recall?: boolean }, ...names: string[]) => {
  const tools = names.map((name) => defineTool({ name, description: 'Reads.', input: z.object({}) }));
  const agent = { name: 'guide', system: '', tools, policy: {}, model: scriptedModel({ steps: [] }), ...options };
  return prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
};

test.each<[string, string[], string]>([
  ['other characters', ['read', 'files.read'], 'agents.guide.tools[1].name'],
  ['none', [''], 'agents.guide.tools[0].name'],
  ['too many', ['x'.repeat(65)], 'agents.guide.tools[0].name'],
  ["another tool's", ['read', 'write', 'read'], 'agents.guide.tools[2].name'],
])('a tool whose name has %s is refused when the agent is loaded', async (_case, names, field) => {
  await expect(prepare(...names)).rejects.toMatchObject({ code: 'invalid_config', field });
});

test('names that every provider takes are taken', async () => {
  await expect(prepare('read', 'Read-2', 'x'.repeat(64))).resolves.toMatchObject({ tools: [{}, {}, {}] });
});

test('the built-in tool is described and weighed only to the agent that has it, and shares its name with none', async () => {
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
    'offset',
    'limit',
  ]);
  expect(given.overhead.tokens).toBeGreaterThan(plain.overhead.tokens + 100);
  const field = 'agents.guide.tools[1].name';
  const message = `${field}: the built-in tool has this name`;
  const refused = prepareWith({ recall: true }, 'read', 'recall');
  await expect(refused).rejects.toMatchObject({ code: 'invalid_config', field, message });
});
