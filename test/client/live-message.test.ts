import { expect, test } from 'vitest';
import { findLastCalls, LiveMessage } from '../../src/api/client/live-message.ts';

const key = { seq: 2, step: 1, epoch: 1, attempt: 1 };

test('a message that a model writes grows by pieces, ignores repeated pieces, and notices missing ones', () => {
  const live = new LiveMessage(key);
  live.add({ kind: 'text', at: 0, text: 'It is' });
  live.add({ kind: 'text', at: 3, text: 'is blue' });
  expect([live.text, live.hasGap]).toEqual(['It is blue', false]);
  live.add({ kind: 'call', call: 0, name: 'look' });
  live.add({ kind: 'arguments', call: 1, at: 0, text: '{' });
  expect(live.hasGap).toBe(true);
});

test('the last model call of a message is the one with the largest epoch, then with the largest attempt', () => {
  const calls = [key, { ...key, attempt: 2 }, { ...key, epoch: 2 }, { ...key, attempt: 3 }];
  const last = findLastCalls(calls.map((call) => ({ ...call, pieces: [] })));
  expect(last.get(2)).toMatchObject({ epoch: 2, attempt: 1 });
});
