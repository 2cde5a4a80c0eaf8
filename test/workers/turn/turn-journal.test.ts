import { expect, it } from 'vitest';
import { type ConversationState, NO_BACKOFF } from '../../../src/domain/conversation.ts';
import type { TurnLease } from '../../../src/domain/lease.ts';
import type { LogEntry, Message } from '../../../src/domain/message.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import type { StepOutcome, StepResult } from '../../../src/store/turn-steps.ts';
import { Shutdown } from '../../../src/workers/shutdown.ts';
import { ContextCache } from '../../../src/workers/turn/context-cache.ts';
import { TurnGuard } from '../../../src/workers/turn/turn-guard.ts';
import { TurnJournal } from '../../../src/workers/turn/turn-journal.ts';
import { ManualTimers } from './manual-timers.ts';

const conversation = { tenant: '_', id: 'c' };
const lease: TurnLease = { conversation, turn: 't', owner: 'o', epoch: 1 };
const nothing = { tokens: 0, bytes: 0 };

function stateAt(head: number, version = 0): ConversationState {
  return {
    agent: 'a',
    incarnation: '1',
    head,
    turns: 1,
    openCalls: [],
    size: { version, weight: nothing, baseTotal: nothing, headTotal: nothing },
    passed: { head: 0, turns: 0 },
    backoff: NO_BACKOFF,
  };
}

function entryOf(seq: number): LogEntry {
  return { seq, message: messageOf(seq), ...nothing, total: nothing, at: 0 };
}

function messageOf(seq: number): Message {
  return { role: 'user', content: `${seq}` };
}

function outcomeOf(seq: number): StepOutcome {
  return { key: `tool-${seq}`, messages: [{ message: messageOf(seq), ...nothing }], opens: [], closes: [] };
}

/** A journal of a log with one message. The store answers its writes when the test releases them. */
function openJournal() {
  const timers = new ManualTimers();
  const replies = new Map<string, (result: StepResult) => void>();
  const reads: string[] = [];
  const turns = {
    heartbeat: async () => ({ status: 'renewed' as const }),
    startSteps: async () => ({ status: 'recorded' as const }),
    takeSteering: async () => ({ status: 'taken' as const, conversation: { ...stateAt(1), openCalls: [] } }),
    recordStep: (_: TurnLease, { key }: StepOutcome) =>
      new Promise<StepResult>((resolve) => {
        replies.set(key, resolve);
      }),
  };
  const contexts = {
    readConversation: async () => undefined,
    readContext: async () => {
      reads.push('context');
      return { version: START_VERSION, head: 1, entries: [entryOf(1)], summaries: new Map() };
    },
    readLog: async (_: unknown, ranges: readonly { readonly from: number; readonly to: number }[]) => {
      reads.push('log');
      return ranges.flatMap(({ from, to }) =>
        Array.from({ length: to - from + 1 }, (_unused, index) => entryOf(from + index)),
      );
    },
  };
  const context = new ContextCache(contexts, conversation);
  const guard = new TurnGuard(lease, {
    turns,
    timers,
    clock: timers,
    onEvent: () => undefined,
    shutdown: new Shutdown(),
    heartbeatMs: 2_000,
    leaseMs: 8_000,
  });
  const claimed = { conversation: stateAt(1), steps: new Map(), spentTokens: 0 };
  const journal = new TurnJournal({ turns, claimed, guard, context, clock: timers });
  return { journal, context, guard, replies, reads };
}

async function contentsOf({ journal, context }: ReturnType<typeof openJournal>): Promise<string[]> {
  return (await context.read(journal.conversation)).messages.map(({ content }) => content);
}

it('a turn adds the messages that it records to its cached context without reading them again', async () => {
  const open = openJournal();
  expect(await contentsOf(open)).toEqual(['1']);
  const records = [2, 3].map((seq) => open.journal.record(outcomeOf(seq)));
  open.replies.get('tool-2')?.({ status: 'recorded', conversation: stateAt(2) });
  open.replies.get('tool-3')?.({ status: 'recorded', conversation: stateAt(3) });
  await Promise.all(records);
  expect(await contentsOf(open)).toEqual(['1', '2', '3']);
  expect(open.reads).toEqual(['context']);
});

it('a turn keeps the newest state and the order of messages if the store’s replies arrive in another order', async () => {
  const open = openJournal();
  await contentsOf(open);
  const records = [2, 3].map((seq) => open.journal.record(outcomeOf(seq)));
  open.replies.get('tool-3')?.({ status: 'recorded', conversation: stateAt(3) });
  await records[1];
  open.replies.get('tool-2')?.({ status: 'recorded', conversation: stateAt(2) });
  await records[0];
  expect(open.journal.conversation.head).toBe(3);
  expect(await contentsOf(open)).toEqual(['1', '2', '3']);
  expect(open.reads).toEqual(['context', 'log']);
  expect([...open.journal.steps.keys()].toSorted()).toEqual(['tool-2', 'tool-3']);
});

it('a turn’s journal writes no further step after the turn has ended', async () => {
  const { journal, guard, replies } = openJournal();
  const ended = new Error('ended');
  guard.abort(ended);
  await expect(journal.record(outcomeOf(2))).rejects.toBe(ended);
  await expect(journal.start(['tool-2'])).rejects.toBe(ended);
  expect(replies.size).toBe(0);
  expect(journal.steps.size).toBe(0);
});

it('a worker’s next write of a turn reports the turn as lost if its conversation was erased', async () => {
  const { journal } = openJournal();
  expect(() => journal.adopt(undefined)).toThrow('gone');
  journal.adopt(stateAt(7));
  expect(journal.conversation.head).toBe(7);
});

it('a turn reads its cached context again when another version went live', async () => {
  const { context, reads } = openJournal();
  await context.read(stateAt(1));
  await context.read(stateAt(1));
  expect(reads).toEqual(['context']);
  await context.read(stateAt(1, 1));
  expect(reads).toEqual(['context', 'context']);
});
