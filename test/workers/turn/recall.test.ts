import { beforeAll, describe, expect, it } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { Message } from '../../../src/domain/message.ts';
import type { TokenCounter } from '../../../src/domain/ports/token-counter.ts';
import type { SeqRange } from '../../../src/domain/version.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/models/scripted.ts';
import { loadTokenCounter } from '../../../src/tokens/token-counter.ts';
import { Recall } from '../../../src/workers/turn/recall.ts';
import { openMemoryContextStore } from '../../fakes/store/context-store.ts';
import { Fixture, ref } from './fixture.ts';

const other: ConversationRef = { tenant: '_', id: 'other' };

let counter: TokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

type Input = Readonly<Record<string, unknown>>;

interface Answer {
  readonly hits: readonly { readonly seq: number; readonly role: string; readonly excerpt: string }[];
  readonly messages: readonly { readonly seq: number; readonly role: string; readonly text: string }[];
  readonly more?: number;
  readonly note?: string;
  readonly next?: { readonly from: number; readonly offset?: number };
}

const user = (content: string): Message => ({ role: 'user', content });
const said = (content: string): Message => ({ role: 'assistant', content });

function callOf(given: Input): ScriptedAnswer {
  return { toolCalls: [{ id: 'call_0', name: 'recall', arguments: given }] };
}

/** A worker whose agent makes these calls, one a turn, and then says "done". */
function openWorld(calls: readonly Input[], options: { recall?: boolean } = {}): Promise<Fixture> {
  const steps = calls.flatMap((given) => [callOf(given), { content: 'done' }]).map((answer) => ({ answer }));
  return Fixture.open({ model: scriptedModel({ steps }), recall: true, ...options });
}

async function fill(world: Fixture, messages: readonly Message[], conversation = ref): Promise<void> {
  const weighed = await Promise.all(messages.map((message) => world.agent.weigh(message)));
  const request = { operation: 'fill', agent: 'guide', expectedHead: 0, opens: [], closes: [] };
  const { status } = await openMemoryContextStore(world.db).append({ ...request, conversation, messages: weighed });
  expect(status).toBe('appended');
}

/** Asks the tool outside a turn: all but the last `keep` messages of the log are archived. */
async function openTool(messages: readonly Message[], { keep = 0, maxTokens = 8_000 } = {}) {
  const world = await openWorld([]);
  await fill(world, messages);
  const reads: (readonly SeqRange[])[] = [];
  const contexts = openMemoryContextStore(world.db);
  const version = {
    ...{ number: 1, base: messages.length - keep },
    segments: [{ kind: 'evicted', from: 1, to: messages.length - keep }],
  } as unknown as Awaited<ReturnType<typeof contexts.readVersion>>;
  const recall = new Recall(counter, maxTokens);
  const state = await contexts.readConversation(ref);
  if (state === undefined) throw new Error('no conversation');
  const tool = recall.open({
    contexts: {
      readVersion: async () => version,
      readLog: async (conversation, ranges) => {
        reads.push(ranges);
        return contexts.readLog(conversation, ranges);
      },
    },
    conversation: ref,
    state,
  });
  const signal = new AbortController().signal;
  const context = { conversation: ref.id, turn: 't1', idempotencyKey: 'key', signal };
  const ask = async (given: Input): Promise<{ readonly text: string; readonly answer: Answer }> => {
    const text = await tool.run?.(tool.input.parse(given), context);
    if (typeof text !== 'string') throw new Error('no text');
    return { text, answer: JSON.parse(text) as Answer };
  };
  return { ask, reads, tool };
}

function resultsOf(world: Fixture): Message[] {
  return world.log.filter(({ role }) => role === 'tool');
}

describe('an agent that recalls', () => {
  it('finds and reads what its context has lost, and only of its own conversation', async () => {
    const world = await openWorld([{ query: 'heron code' }, { from: 2, to: 3 }]);
    await fill(world, [user('Hi'), user('The HERON code is 4711.'), said('Noted.'), user('More'), said('Yes?')]);
    await fill(world, [user('The heron code is 9999.')], other);
    await world.accept('t1', 'Ask for a pass.');
    await world.accept('t2', 'What was the code?');
    await world.deliver();
    const [first, second] = resultsOf(world);
    // Nothing is archived yet: the agent is told so, and what was said of other conversations is not found.
    expect(JSON.parse(first?.content ?? '')).toEqual({
      hits: [
        { seq: 2, role: 'user', excerpt: 'The HERON code is 4711.' },
      ],
      note: 'not archived: you see these messages',
    });
    expect(JSON.parse(second?.content ?? '')).toEqual({
      messages: [
        { seq: 2, role: 'user', text: 'The HERON code is 4711.' },
        { seq: 3, role: 'assistant', text: 'Noted.' },
      ],
    });
  });
});
