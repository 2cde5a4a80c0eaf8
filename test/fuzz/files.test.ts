import { writeFile } from 'node:fs/promises';
import { type Arbitrary, array, constantFrom, integer, record, string, tuple, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { compactFile } from '../../src/cli/commands/compact.ts';
import { planFile } from '../../src/cli/commands/plan.ts';
import { importFile } from '../../src/cli/commands/transfer.ts';
import { renderFile } from '../../src/cli/commands/wire.ts';
import { type Output, openOutput, reportError } from '../../src/cli/output.ts';
import { readPolicyFile } from '../../src/cli/policy-file.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { readPolicy } from '../../src/domain/policy-input.ts';
import { readAgents } from '../../src/host/agent-schema.ts';
import { examineAgents } from '../../src/host/agents.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { readConversationLine } from '../../src/wire/histories/conversation-line.ts';
import { writeTemporary } from '../cli/run-turnfold.ts';
import { createMemoryClient } from '../client/memory-client.ts';
import { badJson, badValue, codedError, keep, type Make, spoiled, tryBatch } from './cases.ts';

const TIMEOUT_MS = 600_000;
/** Control characters, which a terminal would execute. */
const ACTS = /(?!\n|\t)\p{Cc}|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;

const message = record(
  {
    role: constantFrom('user', 'assistant', 'system'),
    content: string(),
    pinned: constantFrom(true, false),
    droppable: constantFrom(true),
    parts: array(record({ type: constantFrom('text', 'image_url'), text: string() }), { maxLength: 2 }),
    raw: record({ format: constantFrom('openai-chat'), model: string(), items: constantFrom([{ a: 1 }]) }),
  },
  { requiredKeys: ['role', 'content'] },
);
const round = [
  { role: 'user', content: 'look' },
  { role: 'assistant', content: '', tool_calls: [{ id: 'x', function: { name: 'look', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'x', content: 'seen' },
  { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
];
const conversation = record({
  id: constantFrom('c1', 'c2'),
  messages: array(message, { minLength: 1, maxLength: 5 }).chain((messages) =>
    constantFrom(messages, [...round, ...messages], round),
  ),
});

/** A spoiled line, or a line with spoiled text. */
function badLine(): Arbitrary<Make<string>> {
  return tuple(
    spoiled(conversation, badJson()),
    integer({ min: -20, max: 200 }),
    string({ unit: 'binary', maxLength: 3 }),
  ).map(([make, at, text]) => () => {
    const line = toJson(make());
    return at < 0 ? line : line.slice(0, at) + text + line.slice(at + 1);
  });
}

/** The form of a value in a file. A property with a getter that throws is missing there. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return '{"id":"c1","messages":[{"role":"user","content":5}]}';
  }
}

function openTest(): { output: Output; said: () => string } {
  let said = '';
  const stream = {
    write: (text: string | Uint8Array) => {
      said += String(text);
      return true;
    },
  };
  return { output: openOutput(stream, stream), said: () => said };
}

const healthy = '{"id":"healthy","messages":[{"role":"user","content":"hello"}]}';

async function serveNeighbour(): Promise<void> {
  expect(readConversationLine(healthy, 1).messages).toHaveLength(1);
}

test(
  'the reader of conversation files returns a conversation or a coded error for any line',
  async () => {
    expect.hasAssertions();
    const run = async (line: string): Promise<void> => void (await codedError(() => readConversationLine(line, 7)));
    await tryBatch({ cases: 4_000, input: badLine(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'plan, compact and render process the lines around any bad line, and print no control characters',
  async () => {
    const run = async (line: string): Promise<void> => {
      const path = await writeTemporary('file.jsonl', [healthy, line.replaceAll('\n', ' '), healthy].join('\n'));
      for (const command of [
        (output: Output) => planFile({ output }, path, {}),
        (output: Output) => compactFile({ output }, path, { json: true }),
        (output: Output) => renderFile({ output }, path, { format: 'anthropic' }),
      ]) {
        const { output, said } = openTest();
        await command(output).catch((error: unknown) => expect(reportError(output, error)).toBe(1));
        expect(said()).not.toMatch(ACTS);
        expect(said().split('\n').length).toBeGreaterThanOrEqual(2);
      }
    };
    await tryBatch({ cases: 300, input: badLine(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'turnfold import writes a conversation whole or not at all',
  async () => {
    const { store, redis } = await openEmbeddedStore();
    const run = async (line: string): Promise<void> => {
      const path = await writeTemporary('file.jsonl', line.replaceAll('\n', ' '));
      const { output, said } = openTest();
      const context = { client: createMemoryClient(store), output, wordError: (error: unknown) => error };
      const imported = importFile(context, path, { agent: 'a', tenant: '_' });
      // A file of another kind is refused as a whole.
      const code = await imported.catch((error: unknown) => {
        if (isTurnfoldError(error)) return error.code;
        throw error;
      });
      expect(said()).not.toMatch(ACTS);
      if (code !== 0) expect(redis.database.keys()).toEqual([]);
      redis.database.clear();
    };
    await tryBatch({ cases: 600, input: badLine(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

const policy = record(
  {
    maxTokens: integer({ min: 1 }),
    tokenThreshold: integer({ min: 1 }),
    thresholdRatio: constantFrom(0.5, 0.85),
    hardRatio: constantFrom(0.92),
    retentionWindow: integer({ min: 0, max: 20 }),
    strategy: constantFrom({ evict: 0.6 }, { min: [{ evict: 0.6 }, { retain: 10 }] }),
    maskToolResults: constantFrom({ keepLast: 2 }),
    pins: array(string()),
    summarizer: constantFrom('structural', { models: ['m'], prompt: 'x' }),
    mode: constantFrom('auto', 'manual', 'review'),
    compact: constantFrom({ maxTokens: 1_000 }),
  },
  { requiredKeys: [] },
);

test(
  'the policy reader returns a policy or a coded error for any value',
  async () => {
    expect.hasAssertions();
    const run = async (given: unknown): Promise<void> => void (await codedError(() => readPolicy(given, 'policy')));
    await tryBatch({ cases: 1_500, input: spoiled(policy), run, serveNeighbour });
    await tryBatch({ cases: 500, input: badValue(), run, serveNeighbour });
  },
  TIMEOUT_MS,
);

test(
  'the policy file reader returns a policy or a coded error for any text or bytes',
  async () => {
    expect.hasAssertions();
    const text = tuple(
      spoiled(policy, badJson()),
      integer({ min: -20, max: 100 }),
      string({ unit: 'binary', maxLength: 4 }),
    ).map(
      ([make, at, wrong]): Make<string | Uint8Array> =>
        () => {
          const yaml = stringify(JSON.parse(toJson(make())));
          return at < 0 ? yaml : yaml.slice(0, at) + wrong + yaml.slice(at + 1);
        },
    );
    const bytes = uint8Array({ maxLength: 200 }).map((given) => keep<string | Uint8Array>(given));
    const byHand = constantFrom(
      '['.repeat(5_000),
      '&a [*a]',
      '- '.repeat(5_000),
      '{a: '.repeat(3_000),
      `a: &a [x]\n${Array.from({ length: 50 }, (_, index) => `b${index}: [${'*a,'.repeat(50)}]`).join('\n')}`,
      '? '.repeat(2_000),
      '!!js/function "x"',
      'a: !!binary "x"',
    ).map((given) => keep<string | Uint8Array>(given));
    const run = async (given: string | Uint8Array): Promise<void> => {
      const path = await writeTemporary('policy.yaml', '');
      await writeFile(path, given);
      const { output } = openTest();
      await codedError(() => readPolicyFile(path, output));
    };
    for (const [input, cases] of [
      [text, 800],
      [bytes, 200],
      [byHand, 40],
    ] as const) {
      await tryBatch({ cases, input, run, serveNeighbour });
    }
  },
  TIMEOUT_MS,
);

const { profile } = scriptedModel({ decide: () => ({}) });
const agent = record(
  {
    name: constantFrom('a'),
    system: string(),
    model: constantFrom({ profile }),
    tools: array(record({ name: constantFrom('look', 'act'), description: string() }), { maxLength: 2 }),
    policy,
    maxSteps: integer({ min: 1 }),
    turnTimeoutMs: integer({ min: 1, max: 1_000 }),
    toolResultMaxTokens: integer({ min: 1 }),
    recall: constantFrom(true, false),
  },
  { requiredKeys: ['name', 'system', 'model', 'tools', 'policy'] },
);

test(
  'the agents reader returns each agent of a module, or a coded error about that agent',
  async () => {
    const run = async (given: unknown): Promise<void> => {
      try {
        addFunctions(given);
      } catch {
        // An unreadable file is the point of this case.
      }
      const { agents, problems } = readAgents([given]);
      for (const problem of problems) await codedError(() => Promise.reject(problem));
      expect(agents.length + problems.length).toBeGreaterThan(0);
      for (const problem of await examineAgents(agents, {}, true)) await codedError(() => Promise.reject(problem));
    };
    await tryBatch({ cases: 1_500, input: spoiled(agent), run, serveNeighbour });
    await tryBatch({ cases: 500, input: badValue(), run: async (value) => void readAgents(value), serveNeighbour });
  },
  TIMEOUT_MS,
);

/** Functions and schemas, which a structured clone cannot copy. */
function addFunctions(given: unknown): void {
  const { model, tools } = Object.getOwnPropertyDescriptors(given as { model?: object; tools?: object[] });
  const [modelValue, toolValues] = [model?.value, tools?.value] as [unknown, unknown];
  if (isPlain(modelValue)) modelValue['generate'] ??= async () => ({ content: '', toolCalls: [] });
  if (!Array.isArray(toolValues)) return;
  for (const tool of toolValues.slice(0, 3) as unknown[]) if (isPlain(tool)) tool['input'] ??= z.object({});
}

function isPlain(value: unknown): value is Record<string, unknown> {
  try {
    return (
      typeof value === 'object' &&
      value !== null &&
      Object.getPrototypeOf(value) === Object.prototype &&
      Object.isExtensible(value)
    );
  } catch {
    return false;
  }
}
