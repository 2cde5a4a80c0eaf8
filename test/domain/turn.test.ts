import { expect, test } from 'vitest';
import { parseInput } from '../../src/domain/parse.ts';
import { isSettled, stepRecordSchema, TURN_STATES, waitingSchema } from '../../src/domain/turn.ts';
import { errorOf } from './error-of.ts';

test('a turn counts as settled once it is completed, failed or canceled', () => {
  expect(TURN_STATES.filter(isSettled)).toStrictEqual(['completed', 'failed', 'canceled']);
});

test('parsing a turn’s stored wait returns the original value, and refuses an unknown kind of wait', () => {
  const calls = [{ id: 'c4_0', name: 'ask', arguments: '{}', until: 5 }];
  const waiting = { for: 'tools', step: 'model-2', since: 1, until: 5, calls };
  expect(parseInput(waitingSchema, waiting)).toStrictEqual(waiting);
  expect(errorOf(() => parseInput(waitingSchema, { ...waiting, for: 'luck' }, 'waiting')).field).toBe('waiting.for');
});

test('parsing a turn’s stored step returns the original value, and refuses an unknown status', () => {
  const done = { status: 'done', seqs: { from: 1, to: 2 }, at: 3 };
  expect(parseInput(stepRecordSchema, done)).toStrictEqual(done);
  expect(errorOf(() => parseInput(stepRecordSchema, { status: 'lost', at: 1 }, 'step')).field).toBe('step.status');
});
