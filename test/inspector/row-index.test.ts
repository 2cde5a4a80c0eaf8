import { expect, test } from 'vitest';
import { RowIndex } from '../../inspector/src/timeline/row-index.ts';

function describeRows(index: RowIndex): string[] {
  return Array.from({ length: index.count }, (_, row) => {
    const at = index.at(row);
    return at.kind === 'message' ? String(at.seq) : `v${at.version}`;
  });
}

test('the list of rows shows a version behind the message that was the newest when the version was made', () => {
  const index = new RowIndex(5, [
    { version: 3, head: 4 },
    { version: 1, head: 2 },
    { version: 2, head: 2 },
  ]);
  expect(describeRows(index)).toEqual(['1', '2', 'v1', 'v2', '3', '4', 'v3', '5']);
  expect([1, 2, 3, 4, 5].map((seq) => index.indexOf(seq))).toEqual([0, 1, 4, 5, 7]);
});

test('the row index finds the messages among some rows although versions stand between, before and behind them', () => {
  const index = new RowIndex(5, [
    { version: 1, head: 2 },
    { version: 2, head: 2 },
    { version: 3, head: 2 },
    { version: 4, head: 5 },
  ]);
  expect(describeRows(index)).toEqual(['1', '2', 'v1', 'v2', 'v3', '3', '4', '5', 'v4']);
  expect(index.seqsBetween(2, 7)).toEqual([3, 4]);
  expect(index.seqsBetween(0, 5)).toEqual([1, 2]);
  expect(index.seqsBetween(5, 9)).toEqual([3, 5]);
  expect(index.seqsBetween(2, 5)).toEqual([0, 0]);
});

test('the row index puts a version of an empty log first, and leaves out a version behind the end of the log', () => {
  const index = new RowIndex(1, [
    { version: 1, head: 0 },
    { version: 2, head: 9 },
  ]);
  expect(describeRows(index)).toEqual(['v1', '1']);
});

test('the row index finds every message of a long log at its own row', () => {
  const dividers = Array.from({ length: 200 }, (_, order) => ({ version: order + 1, head: order * 37 }));
  const index = new RowIndex(10_000, dividers);
  expect(index.count).toBe(10_200);
  for (let seq = 1; seq <= 10_000; seq += 7) {
    expect(index.at(index.indexOf(seq))).toEqual({ kind: 'message', seq });
  }
});
