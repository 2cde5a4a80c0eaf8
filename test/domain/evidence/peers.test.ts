import { describe, expect, test } from 'vitest';
import { PEER_GROUPS, PeerSums, peersOf } from '../../../src/compaction/evidence/peers.ts';
import { shapeOf } from '../../../src/compaction/evidence/term-shape.ts';

function groupOf(text: string, messages = 1): number {
  return peersOf({ messages }, shapeOf(text));
}

/** Terms of one row are peers. Terms of different rows are not. */
const KINDS = [
  ['the', 'año'],
  ['order', 'straße'],
  ['src/a.ts', 'https://a.org/b'],
  ['order-17', '2024-05-01'],
  ['user.name', 'a::bcd'],
  ['1290', '17'],
  ['order_17', 'ID_9'],
  ['7f3a9c', 'w100'],
  ['W100', 'A1'],
  ['user_name', 'MAX_SIZE'],
  ['readFile', 'NSObjectName'],
  ['Order', 'ERROR', '订单'],
];

describe('the peers of a term (terms that are compared with each other)', () => {
  test('two terms are peers (terms that are compared) if they are the same kind of text, such as paths, numbers or plain words', () => {
    const groups = KINDS.map((row) => [...new Set(row.map((text) => groupOf(text)))]);
    for (const [index, row] of groups.entries()) expect(row, KINDS[index]?.join()).toHaveLength(1);
    expect(new Set(groups.flat()).size).toBe(KINDS.length);
  });

  test('two terms are peers (terms that are compared) only if about as many messages contain them', () => {
    expect(new Set([1, 2, 3, 4, 6, 8, 11, 16].map((messages) => groupOf('order', messages))).size).toBe(8);
    expect(groupOf('order', 9)).toBe(groupOf('order', 8));
    expect(groupOf('order', 100_000)).toBe(groupOf('order', 16));
  });

  test('the number of each group of comparable terms is below PEER_GROUPS', () => {
    for (const text of KINDS.flat()) expect(groupOf(text, 100_000)).toBeLessThan(PEER_GROUPS);
  });
});

test('PeerSums keeps a separate sum and count for each group of comparable terms', () => {
  const sums = new PeerSums();
  sums.add(3, 0.5);
  sums.add(3, 0.25);
  expect(sums.of(3)).toEqual({ sum: 0.75, size: 2 });
  expect(sums.of(4)).toEqual({ sum: 0, size: 0 });
});
