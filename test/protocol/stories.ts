import { z } from 'zod';
import { defineTool, type Tool } from '../../src/domain/agent.ts';
import type { Message } from '../../src/domain/message.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import type { Summarizer } from '../../src/domain/ports/summarizer.ts';
import type { WaitKind } from '../../src/domain/turn.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/models/scripted.ts';
import type { WorldClock } from './clock.ts';
import type { Client, Story } from './story.ts';
import { ref, type World } from './world.ts';

const MODEL_MS = 2_500;
const SMALL = { windowTokens: 2_500, outputCapTokens: 500 };

function words(count: number): string {
  return ' word'.repeat(count);
}

/** Messages written as `u20 a300`: role and words of each. */
export function talk(script: string): Message[] {
  return script
    .split(' ')
    .map((part) => ({ role: part.startsWith('u') ? 'user' : 'assistant', content: words(Number(part.slice(1))) }));
}

/** Depends on the request alone, so that a step that is run again gets the same answer. */
function answerIn({ messages, idempotencyKey, tokens }: ModelRequest, calls: readonly string[] = []): ScriptedOutcome {
  const usage = { inputTotal: tokens, output: 5, outputKept: 5 };
  const isFirst = idempotencyKey.endsWith('/model-1') && idempotencyKey.includes('/t1/');
  if (!isFirst || calls.length === 0) return { content: `said after ${messages.at(-1)?.role}`, usage };
  return { content: 'Let me see.', toolCalls: calls.map((name) => ({ name, arguments: {} })), usage };
}

export const TOOLS = [
  defineTool({ name: 'read', description: '', input: z.object({}), run: async () => 'text' }),
  defineTool({ name: 'list', description: '', input: z.object({}), run: async () => 'names' }),
  defineTool({ name: 'remove', description: '', input: z.object({}), needsApproval: true, run: async () => 'removed' }),
  defineTool({ name: 'ask', description: '', input: z.object({}) }),
] as Tool[];

function calling(...calls: readonly string[]) {
  return () => ({ model: scriptedModel({ decide: (request) => answerIn(request, calls) }), tools: TOOLS });
}

function waitsFor(kind: WaitKind): (world: World) => boolean {
  return ({ db }) => {
    const turn = db.find(ref)?.turnRecords.get('t1');
    return turn?.state === 'waiting' ? turn.waiting?.for === kind : turn !== undefined && turn.settledAt !== undefined;
  };
}

const two = async (client: Client): Promise<void> => {
  await client.enqueue('t1', 'One.');
  await client.enqueue('t2', 'Two.');
};

/** Writes the same short text for the same range. */
const brief: Summarizer = {
  id: 'brief',
  summarize: async ({ range }) => ({ status: 'written', text: `what happened in ${range.from}-${range.to}` }),
};

/** One sequence of two that nobody can summarize: it throws, as a service that is down. */
const halfDown: Summarizer = {
  id: 'half-down',
  summarize: async (request) => {
    if (request.range.from === 2) throw new Error('down');
    return await brief.summarize(request);
  },
};

const softly = (summarizer: Summarizer) => () => ({
  model: scriptedModel({ profile: { windowTokens: 100_000 }, decide: answerIn }),
  policy: { tokenThreshold: 1_000, maxTokens: 600, retentionWindow: 2 },
  summarizers: [summarizer],
});

/** Its provider wants to be left alone for the first five seconds. */
function limited(clock: WorldClock) {
  const retryAt = clock.now() + 5_000;
  const decide = (request: ModelRequest): ScriptedOutcome =>
    clock.now() < retryAt ? new ModelError('retry', 'slow down', { retryAt }) : answerIn(request);
  return { model: scriptedModel({ decide }) };
}

const LONG = talk('u20 a300 a300 u20 a300 a300 u20 a20');

export const STORIES: readonly Story[] = [
  { name: 'two plain turns', options: { surround: calling(), modelMs: MODEL_MS }, clients: [two] },
  {
    name: 'a turn with parallel tools, one answered from outside',
    options: { surround: calling('read', 'ask', 'list'), modelMs: MODEL_MS },
    clients: [
      two,
      async (client) => {
        await client.until(waitsFor('tools'));
        await client.answer('t1', { c2_1: { content: 'blue' } });
      },
    ],
  },
  {
    name: 'a turn with an approval',
    options: { surround: calling('remove') },
    clients: [
      two,
      async (client) => {
        await client.until(waitsFor('approval'));
        await client.answer('t1', { c2_0: { approved: true } });
      },
    ],
  },
  {
    name: 'a turn that waits for a hard pass',
    options: {
      surround: () => ({
        model: scriptedModel({ profile: SMALL, decide: answerIn }),
        policy: { tokenThreshold: 1_800, maxTokens: 1_000, retentionWindow: 2 },
        summarizers: [brief],
      }),
    },
    before: talk('u20 a300 a300 u20 a300 a300 u20 a300'),
    clients: [
      async (client) => {
        await client.enqueue('t1', words(350));
        await client.enqueue('t2', 'Two.');
      },
    ],
  },
  {
    name: 'a soft pass with two sequences',
    options: { surround: softly(brief) },
    before: LONG,
    clients: [(client) => client.compact('token_threshold')],
  },
  {
    name: 'a soft pass, one summary of which fails',
    options: { surround: softly(halfDown) },
    before: LONG,
    clients: [(client) => client.compact('token_threshold')],
  },
  {
    name: 'a turn with a soft pass behind it',
    options: { surround: softly(brief), modelMs: MODEL_MS },
    before: LONG,
    isRacing: true,
    clients: [async (client) => void (await client.enqueue('t1', 'One.'))],
  },
  {
    name: 'a cancel while the turn waits for a tool',
    options: { surround: calling('read', 'ask') },
    clients: [
      two,
      async (client) => {
        await client.until(waitsFor('tools'));
        await client.cancel('t1');
      },
    ],
  },
  {
    name: 'a delayed turn',
    options: { surround: calling(), modelMs: MODEL_MS },
    clients: [
      async (client) => {
        await client.enqueue('t1', 'One.');
        await client.enqueue('t2', 'Two.', 60_000);
      },
    ],
  },
  { name: 'a turn whose provider limits its rate', options: { surround: limited }, clients: [two] },
];
