import { expect, test } from 'vitest';
import { parseInput } from '../../src/domain/parse.ts';
import { isSettled, stepRecordSchema, TURN_STATES, waitingSchema } from '../../src/domain/turn.ts';
import { errorOf } from './error-of.ts';

test('a turn counts as settled once it is completed, failed or canceled', () => {
  expect(TURN_STATES.filter(isSettled)).toStrictEqual(['completed', 'failed', 'canceled']);
});

test('a stored wait of a turn parses to its original value, and an unknown kind of wait is refused', () => {
  const calls = [{ id: 'c4_0', name: 'ask', arguments: '{}', until: 5 }];
  const waiting = { for: 'tools', step: 'model-2', since: 1, until: 5, calls };
  expect(parseInput(waitingSchema, waiting)).toStrictEqual(waiting);
  expect(errorOf(() => parseInput(waitingSchema, { ...waiting, for: 'luck' }, 'waiting')).field).toBe('waiting.for');
});

test('a stored step of a turn parses to its original value, and an unknown status is refused', () => {
  const done = { status: 'done', seqs: { from: 1, to: 2 }, at: 3 };
  expect(parseInput(stepRecordSchema, done)).toStrictEqual(done);
  expect(errorOf(() => parseInput(stepRecordSchema, { status: 'lost', at: 1 }, 'step')).field).toBe('step.status');
});
