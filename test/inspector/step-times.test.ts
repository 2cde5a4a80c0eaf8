import { expect, test } from 'vitest';
import { timeSteps } from '../../inspector/src/turn/step-times.ts';

test('measures a model step from the record before it, and calls from the record of their step', () => {
  const { steps, calls } = timeSteps([
    { role: 'user', at: 1_000 },
    { role: 'assistant', at: 1_400 },
    { role: 'tool', at: 1_500, toolCallId: 'a' },
    { role: 'tool', at: 2_400, toolCallId: 'b' },
    { role: 'assistant', at: 2_700 },
  ]);
  expect([...steps]).toEqual([
    [1, { at: 1_400, tookMs: 400 }],
    [2, { at: 2_700, tookMs: 300 }],
  ]);
  expect([...calls]).toEqual([
    ['a', { at: 1_500, tookMs: 100 }],
    ['b', { at: 2_400, tookMs: 1_000 }],
  ]);
});

test('a turn that nobody has claimed has no times', () => {
  expect(timeSteps([])).toEqual({ steps: new Map(), calls: new Map() });
});
