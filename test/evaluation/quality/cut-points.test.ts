import { expect, test } from 'vitest';
import { findCuts } from '../../../bench/context/quality/point.ts';
import { round, says, user } from './conversation.ts';

const chat = (count: number) => Array.from({ length: count }, (_, index) => (index % 2 === 0 ? user('a') : says('b')));
const ones = (count: number): number[] => Array.from({ length: count }, () => 1);

test('findCuts cuts a conversation at half and at three quarters of its tokens', () => {
  expect(findCuts(chat(40), ones(40))).toEqual([20, 30]);
});

test('findCuts counts tokens, not messages', () => {
  const sizes = [...ones(20), ...Array.from({ length: 20 }, () => 9)];
  expect(findCuts(chat(40), sizes)).toEqual([28, 34]);
});

test('findCuts moves a cut inside a tool round behind the results of this round', () => {
  const rounds = Array.from({ length: 12 }, () => round({ path: 'a' }, 'b')).flat();
  const messages = [user('go'), ...rounds];
  const cuts = findCuts(messages, ones(messages.length));
  expect(cuts).toHaveLength(2);
  for (const cut of cuts) expect(messages[cut]?.role).toBe('assistant');
});

test('findCuts leaves out cuts with fewer than eight messages before them or fewer than five after them', () => {
  expect(findCuts(chat(10), ones(10))).toEqual([]);
  expect(findCuts(chat(16), ones(16))).toEqual([8]);
  expect(findCuts([], [])).toEqual([]);
});
