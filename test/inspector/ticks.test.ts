import { expect, test } from 'vitest';
import { placeTicks } from '../../inspector/src/gauge/ticks.ts';

test('labels of near thresholds get rows of their own, and the left one is the lower one', () => {
  const ticks = placeTicks(
    [
      { name: 'tokenThreshold', tokens: 50 },
      { name: 'hardRatio', tokens: 54 },
      { name: 'maxTokens', tokens: 20 },
      { name: 'thresholdRatio', tokens: 200 },
    ],
    100,
  );
  expect(ticks.map(({ name, row }) => [name, row])).toEqual([
    ['hardRatio', 0],
    ['tokenThreshold', 1],
    ['maxTokens', 0],
  ]);
});

test('a label at the right end stands left of its tick', () => {
  expect(placeTicks([{ name: 'hardRatio', tokens: 99 }], 100)).toMatchObject([{ isAtEnd: true }]);
});
