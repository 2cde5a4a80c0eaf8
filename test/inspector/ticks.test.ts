import { expect, test } from 'vitest';
import { placeTicks } from '../../inspector/src/gauge/ticks.ts';

test('the labels of near thresholds in the gauge get separate rows, and the left label is in the lower row', () => {
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

test('the label of a threshold at the right end of the gauge stands left of its tick', () => {
  expect(placeTicks([{ name: 'hardRatio', tokens: 99 }], 100)).toMatchObject([{ isAtEnd: true }]);
});
