import { describe, expect, test } from 'vitest';
import { estimateMean, type Observed } from '../../../bench/context/intervals.ts';

interface Item extends Observed {
  readonly value: number | undefined;
}

const itemsOf = (family: Observed['family'], values: readonly (readonly (number | undefined)[])[]): Item[] =>
  values.flatMap((own, index) => own.map((value) => ({ family, conversation: `${family} ${index}`, value })));
const estimate = (items: readonly Item[]) => estimateMean(items, ({ value }) => value);

describe('intervals of the context benchmark', () => {
  test('the estimate is the mean of the families, each the mean of its points', () => {
    const items = [...itemsOf('chat', [[0, 0.5], [0.25]]), ...itemsOf('web', [[1], [1]])];
    expect(estimate(items)).toMatchObject({ mean: 0.625, conversations: 4, points: 5 });
  });

  test('the interval contains the mean, and is the same in each run', () => {
    const items = itemsOf('chat', [[0.1], [0.9], [0.4, 0.6], [0.3]]);
    const { mean, interval = [1, 0] } = estimate(items);
    expect(interval[0]).toBeLessThan(mean);
    expect(interval[1]).toBeGreaterThan(mean);
    expect(estimate(items)).toEqual(estimate(items));
  });

  test('conversations are drawn, not points: many equal points of two conversations leave the interval wide', () => {
    const many = itemsOf('chat', [Array<number>(50).fill(0), Array<number>(50).fill(1)]);
    expect(estimate(many).interval).toEqual([0, 1]);
  });

  test('more conversations give a smaller interval', () => {
    const width = (count: number): number => {
      const { interval = [0, 0] } = estimate(
        itemsOf(
          'chat',
          [...Array(count).keys()].map((index) => [index % 2]),
        ),
      );
      return interval[1] - interval[0];
    };
    expect(width(100)).toBeLessThan(width(10));
  });

  test('a family with one conversation has no interval, and points without a value do not count', () => {
    expect(estimate(itemsOf('chat', [[0.5, undefined]]))).toEqual({
      mean: 0.5,
      interval: undefined,
      conversations: 1,
      points: 1,
    });
    expect(estimate([]).mean).toBeNaN();
  });
});
