import { expect } from 'vitest';
import { isAnswerKind, isSettled, type StepRecord, type TurnState, type Waiting } from '../../src/domain/turn.ts';

/** A turn as stored, without its times. */
export interface ObservedTurn {
  readonly state: TurnState;
  readonly agent: string;
  readonly hasInput: boolean;
  /** Tools, instructions and settings of the turn alone: among the texts of the conversation, or in the failed turn. */
  readonly own?: { readonly text?: string; readonly isMarked: boolean; readonly kept?: string };
  readonly inputSeq?: number;
  readonly answerSeq?: number;
  readonly failureCode?: string;
  readonly canceledBy?: string;
  readonly isSteering: boolean;
  readonly steeredInto?: string;
  readonly requests?: readonly string[];
  readonly steps: Readonly<Record<string, Omit<StepRecord, 'at'>>>;
  readonly answers: Readonly<Record<string, string>>;
  readonly suspensions: Readonly<Record<string, number>>;
  readonly waiting?: Pick<Waiting, 'for' | 'step'> & {
    readonly calls: readonly string[];
    readonly isOver: boolean;
    readonly isFulfilled: boolean;
  };
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly requestTokens: readonly number[];
}

/** All records of a conversation in a store, in a form in which two stores can be compared. */
export interface Observation {
  /** Values that are equal in every store after the same operations. */
  readonly shape: {
    readonly mailbox: readonly string[];
    readonly turns: Readonly<Record<string, ObservedTurn>>;
    readonly owner?: string;
    readonly attempts: number;
    readonly wake?: string;
    readonly poisonedTurn?: string;
    readonly openCalls: Readonly<Record<string, string>>;
    readonly log: readonly {
      readonly role: string;
      readonly content: string;
      readonly toolCallId?: string;
      readonly turn?: string;
      readonly totalTokens: number;
      readonly totalBytes: number;
    }[];
    readonly userMessages: number;
    readonly anchor?: { readonly seq: number; readonly tokens: number };
    readonly texts: Readonly<Record<string, string>>;
    readonly passId?: string;
    readonly isSteered: boolean;
    /** Ranges of the log that the next turn removes from the context, as `from to` pairs. */
    readonly undo: readonly number[];
    readonly events: readonly string[];
    /** `t`, `p` and `d|<turn>` */
    readonly ready: readonly string[];
    /** Kinds and turns in the shard's list of waiting turns. */
    readonly waiting: readonly string[];
  };
  /** Milliseconds since epoch, by the clock of each store. */
  readonly times: {
    readonly now: number;
    readonly epoch: number;
    readonly lease?: number;
    readonly ready: Readonly<Record<string, number>>;
  };
}

/** Replaces times in a text, because each store has its own clock. */
export function withoutTimes(text: string): string {
  return text.replaceAll(/\d{13}/g, '<time>');
}

/** Compares two values. @throws with `why` if they differ */
export function checkSame(actual: unknown, expected: unknown, why: string): void {
  expect(actual, why).toEqual(expected);
}

/** Checks the invariants of DESIGN §4 that can be checked in stored records. @throws if one is broken */
export function checkInvariants({ shape, times }: Observation, before?: Observation): void {
  const { mailbox, turns, ready } = shape;
  const unsettled = Object.entries(turns).filter(([, turn]) => !isSettled(turn.state));
  const scheduled = unsettled.filter(([, turn]) => turn.state === 'scheduled').map(([id]) => id);
  expect(new Set(mailbox).size, 'I1: a turn stands in the mailbox once').toBe(mailbox.length);
  for (const id of mailbox.slice(1)) {
    const turn = turns[id];
    expect(turn?.state, 'I1: only the head runs or waits, with the turns that steered it').toBe(
      turn?.steeredInto === undefined ? 'queued' : 'running',
    );
    expect([mailbox[0], undefined], 'a turn steers the head').toContain(turn?.steeredInto);
  }
  const ranks = mailbox
    .slice(1)
    .map((id) => (turns[id]?.steeredInto !== undefined ? 0 : turns[id]?.isSteering ? 1 : 2));
  expect(ranks, 'turns that steered the head come first, then steering turns').toEqual(ranks.toSorted((a, b) => a - b));
  const isSteering = ranks.includes(1);
  if (isSteering) expect(shape.isSteered, 'the worker learns of steering turns').toBe(true);
  const headState = turns[mailbox[0] ?? '']?.state;
  expect(shape.owner !== undefined, 'I1: an owner while the head runs, else none').toBe(headState === 'running');
  expect(times.lease !== undefined, 'I1: a lease with its owner').toBe(shape.owner !== undefined);
  expect(unsettled.map(([id]) => id).toSorted(), 'I2: in the mailbox or scheduled iff not settled').toEqual(
    [...mailbox, ...scheduled].toSorted(),
  );
  const expected = [...(mailbox.length > 0 ? ['t'] : []), ...scheduled.map((id) => `d|${id}`)];
  expect(
    ready.filter((member) => member !== 'p'),
    'I3: an entry per mailbox and scheduled turn',
  ).toEqual(expected.toSorted());
  expect(ready.includes('p'), 'I6: an unended pass has its entry').toBe(shape.passId !== undefined);
  expect(times.epoch, 'I4: epochs never fall').toBeGreaterThanOrEqual(before?.times.epoch ?? 0);
  const { waiting } = turns[mailbox[0] ?? ''] ?? {};
  const isListed = headState === 'waiting' && waiting && isAnswerKind(waiting.for) && !waiting.isFulfilled;
  expect(shape.waiting, 'listed iff somebody has to answer').toEqual(isListed ? [`${waiting.for}|${mailbox[0]}`] : []);
  checkLog(shape);
  for (const turn of Object.values(turns).filter(({ state }) => isSettled(state))) {
    const texts = Object.values(turn.answers).filter((text) => text !== '');
    expect([turn.hasInput, texts, turn.suspensions, turn.waiting]).toEqual([false, [], {}, undefined]);
  }
  for (const { state, own } of Object.values(turns)) {
    if (own === undefined) continue;
    expect(own.text !== undefined, 'the text of its own has a mark in the turn').toBe(own.isMarked);
    expect(own.text !== undefined, 'an open turn keeps its own').toBe(!isSettled(state));
    expect(own.kept !== undefined, 'only a failed turn keeps its own for a redrive').toBe(state === 'failed');
  }
}

function checkLog({ log, openCalls, userMessages }: Observation['shape']): void {
  expect(log.filter(({ role }) => role === 'user').length, 'user messages are counted').toBe(userMessages);
  const answered = log.flatMap(({ toolCallId }) => (toolCallId === undefined ? [] : [toolCallId]));
  expect(new Set(answered).size, 'a call is answered once').toBe(answered.length);
  expect(
    answered.filter((call) => call in openCalls),
    'an answered call is not open',
  ).toEqual([]);
  const totals = log.map(({ totalTokens }) => totalTokens);
  expect(totals, 'totals ascend').toEqual(totals.toSorted((a, b) => a - b));
}
