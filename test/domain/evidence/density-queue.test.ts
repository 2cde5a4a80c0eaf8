import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Dense, DensityQueue } from '../../../src/compaction/evidence/density-queue.ts';

const sort = (items: readonly Dense[]): Dense[] =>
  items.toSorted((one, other) => other.density - one.density || one.index - other.index);

test('a density queue without items returns undefined', () => {
  expect(new DensityQueue().pop()).toBeUndefined();
});

test('a density queue returns its items by falling density, and items of equal density by their index', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -3, max: 3 })), (densities) => {
      const items = densities.map((density, index) => ({ index, density }));
      const queue = new DensityQueue();
      for (const item of items) queue.push(item);
      expect(queue.size).toBe(items.length);
      expect(items.map(() => queue.pop())).toEqual(sort(items));
      expect(queue.size).toBe(0);
    }),
  );
});

test('a density queue always returns the item of highest density, even if items are pushed between reads', () => {
  const step = fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new DensityQueue();
      let held: Dense[] = [];
      for (const [index, density] of steps.entries()) {
        if (density === undefined) {
          expect(queue.pop()).toEqual(sort(held)[0]);
          held = sort(held).slice(1);
        } else {
          queue.push({ index, density });
          held.push({ index, density });
        }
      }
    }),
  );
});
