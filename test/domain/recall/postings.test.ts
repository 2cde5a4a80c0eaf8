import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Postings } from '../../../src/compaction/recall/postings.ts';

function read(postings: Postings, list: number): number[] {
  const items: number[] = [];
  postings.read(list, (item) => items.push(item));
  return items;
}

test('a postings list returns its numbers in the order of their addition, without repetitions', () => {
  const added = fc.array(fc.tuple(fc.nat(4), fc.oneof(fc.nat(3), fc.nat(1_000), fc.nat(100_000_000))), {
    maxLength: 400,
  });
  fc.assert(
    fc.property(added, (steps) => {
      const postings = new Postings();
      for (let list = 0; list < 5; list += 1) postings.open();
      const expected: number[][] = [[], [], [], [], []];
      for (const [list, step] of steps) {
        const own = expected[list] as number[];
        const item = (own.at(-1) ?? 0) + step;
        postings.add(list, item);
        if (own.at(-1) !== item) own.push(item);
      }
      for (const [list, items] of expected.entries()) {
        expect(read(postings, list)).toEqual(items);
        expect(postings.count(list)).toBe(items.length);
      }
    }),
  );
});

test('a postings list stores each of many nearby numbers in less than two bytes', () => {
  const postings = new Postings();
  postings.open();
  for (let item = 0; item < 1_000_000; item += 10) postings.add(0, item);
  expect(read(postings, 0)).toHaveLength(100_000);
  expect(postings.bytes).toBeLessThan(200_000);
});
