import { describe, expect, test } from 'vitest';
import { parseInput } from '../../src/domain/parse.ts';
import {
  isSettled,
  nextTurnState,
  stepRecordSchema,
  TURN_STATES,
  type TurnEvent,
  type TurnState,
  waitingSchema,
} from '../../src/domain/turn.ts';
import { errorOf } from './error-of.ts';

const EVENTS: readonly TurnEvent[] = [
  'accept',
  'schedule',
  'become_due',
  'claim',
  'release',
  'suspend',
  'complete',
  'fail',
  'cancel',
];

/** The next state for every pair of state and event. `-` stands for a refusal. */
const table: Readonly<Record<'none' | TurnState, readonly (TurnState | '-')[]>> = {
  none: ['queued', 'scheduled', '-', '-', '-', '-', '-', '-', '-'],
  scheduled: ['-', '-', 'queued', '-', '-', '-', '-', '-', 'canceled'],
  queued: ['-', '-', '-', 'running', '-', '-', '-', 'failed', 'canceled'],
  running: ['-', '-', '-', 'running', 'queued', 'waiting', 'completed', 'failed', 'canceled'],
  waiting: ['-', '-', '-', 'running', '-', '-', '-', 'failed', 'canceled'],
  completed: ['-', '-', '-', '-', '-', '-', '-', '-', '-'],
  failed: ['-', '-', '-', '-', '-', '-', '-', '-', '-'],
  canceled: ['-', '-', '-', '-', '-', '-', '-', '-', '-'],
};

describe('turn', () => {
  test.each((['none', ...TURN_STATES] as const).flatMap((state) => EVENTS.map((event, at) => ({ state, event, at }))))(
    '$state, $event',
    ({ state, event, at }) => {
      expect(nextTurnState(state, event) ?? '-').toBe(table[state][at]);
    },
  );

  test('a settled turn allows no event, every other state allows some', () => {
    for (const state of TURN_STATES) {
      expect(isSettled(state)).toBe(EVENTS.every((event) => nextTurnState(state, event) === undefined));
    }
  });

  test('a stored wait and a stored step parse to their original values', () => {
    const calls = [{ id: 'c4_0', name: 'ask', arguments: '{}', until: 5 }];
    const waiting = { for: 'tools', step: 'model-2', since: 1, until: 5, calls };
    expect(parseInput(waitingSchema, waiting)).toStrictEqual(waiting);
    expect(errorOf(() => parseInput(waitingSchema, { ...waiting, for: 'luck' }, 'waiting')).field).toBe('waiting.for');
    expect(parseInput(stepRecordSchema, { status: 'done', seqs: { from: 1, to: 2 }, at: 3 })).toStrictEqual({
      status: 'done',
      seqs: { from: 1, to: 2 },
      at: 3,
    });
    expect(errorOf(() => parseInput(stepRecordSchema, { status: 'lost', at: 1 }, 'step')).field).toBe('step.status');
  });
});
