import { z } from 'zod';
import { defineTool, type Tool } from '../../src/domain/agent.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import type { Message } from '../../src/domain/message.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { Summarizer } from '../../src/domain/ports/summarizer.ts';
import type { WaitKind } from '../../src/domain/turn.ts';
import type { MemoryPass } from '../../src/memory-store/database.ts';
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
export const brief: Summarizer = {
  id: 'brief',
  summarize: async ({ range }) => ({ status: 'written', text: `what happened in ${range.from}-${range.to}` }),
};

/** One sequence of two that nobody can summarize: it throws, as a service that is down. */
export const halfDown: Summarizer = {
  id: 'half-down',
  summarize: async (request) => {
    if (request.range.from === 2) throw new Error('down');
    return await brief.summarize(request);
  },
};

const softly =
  (summarizer: Summarizer, policy: PolicyInput = {}) =>
  () => ({
    model: scriptedModel({ profile: { windowTokens: 100_000 }, decide: answerIn }),
    policy: { tokenThreshold: 1_000, maxTokens: 600, retentionWindow: 2, ...policy },
    summarizers: [summarizer],
  });

const compact = (client: Client): Promise<void> => client.compact('token_threshold');

/** The pass has come to where it is of use here; or it is over: two mishaps too many, and it has failed. */
const untilPass = (isThere: (pass: MemoryPass) => boolean) => (world: World) => {
  const { pass, version = 0, events = [] } = world.db.find(ref) ?? {};
  const isOver = version > 0 || events.some(({ type }) => type === 'pass_ended');
  return isOver || (pass !== undefined && isThere(pass));
};
const isProposed = untilPass(({ review }) => review !== undefined);

/** Something else has come first, whenever it is asked. */
async function approveInVain(client: Client): Promise<void> {
  try {
    await client.approve('long-gone');
  } catch (error) {
    if (isTurnfoldError(error) && error.code === 'proposal_stale') return;
    throw error;
  }
  throw new Error('a stale proposal was approved');
}

/** Its provider wants to be left alone for the first five seconds. */
function limited(clock: WorldClock) {
  const retryAt = clock.now() + 5_000;
  const decide = (request: ModelRequest): ScriptedOutcome =>
    clock.now() < retryAt ? new ModelError('retry', 'slow down', { retryAt }) : answerIn(request);
  return { model: scriptedModel({ decide }) };
}

/** Two sequences to be summarized. */
export const LONG = 'u20 a300 a300 u20 a300 a300 u20 a20';

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
    before: talk(LONG),
    clients: [compact],
  },
  {
    name: 'a soft pass, one summary of which fails',
    options: { surround: softly(halfDown) },
    before: talk(LONG),
    clients: [compact],
  },
  {
    name: 'a turn with a soft pass behind it',
    options: { surround: softly(brief), modelMs: MODEL_MS },
    before: talk(LONG),
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
    name: 'a cancel while the turn is at work',
    options: { surround: calling(), modelMs: MODEL_MS },
    clients: [
      two,
      async (client) => {
        await client.until(({ db }) => db.find(ref)?.turnRecords.get('t1')?.inputSeq !== undefined);
        await client.cancel('t1');
      },
    ],
  },
  {
    name: 'a turn whose wake is lost',
    options: { surround: calling(), modelMs: MODEL_MS },
    lostWakes: 1,
    clients: [two],
  },
  {
    name: 'a proposal that is approved',
    options: { surround: softly(brief, { mode: 'review' }) },
    before: talk(LONG),
    clients: [
      compact,
      async (client) => {
        await client.until(isProposed);
        await client.approve();
      },
    ],
  },
  {
    name: 'a proposal that a restore makes stale',
    options: { surround: softly(brief, { mode: 'review' }) },
    before: talk(LONG),
    clients: [
      compact,
      async (client) => {
        await client.until(isProposed);
        await client.restoreAll();
        await approveInVain(client);
      },
    ],
  },
  {
    name: 'a fork while a pass of its parent runs',
    options: { surround: softly(brief) },
    before: talk(LONG),
    isRacing: true,
    clients: [compact, (client) => client.fork('copy')],
  },
  {
    name: 'a restore while a pass runs',
    options: { surround: softly(brief) },
    before: talk(LONG),
    isRacing: true,
    clients: [
      compact,
      async (client) => {
        await client.until(untilPass(({ parked }) => parked !== undefined));
        await client.restoreAll();
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
