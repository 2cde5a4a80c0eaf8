import { expect, test } from 'vitest';
import { EarlyStops } from '../../src/api/http/front-end/early-stops.ts';

const NAME = ['_', 'c1', 't1'] as const;
const OTHER = ['_', 'c1', 't2'] as const;
const gone = AbortSignal.abort();
const findNothing = async (): Promise<undefined> => undefined;

test('a turn that comes after its stop has given up finds the stop, once', async () => {
  const stops = new EarlyStops();
  expect(await stops.find([NAME], findNothing, gone)).toBeUndefined();
  expect([stops.take(OTHER), stops.take(NAME), stops.take(NAME)]).toEqual([false, true, false]);
});

test('a turn that comes while its stop looks for it finds the stop', async () => {
  const stops = new EarlyStops();
  let isTaken = false;
  const read = async (): Promise<string | undefined> => {
    isTaken = stops.take(NAME);
    return isTaken ? 't1' : undefined;
  };
  expect(await stops.find([NAME], read, new AbortController().signal)).toBe('t1');
  expect(isTaken).toBe(true);
});

test('a stop that has found its turn ends no later turn of the same name', async () => {
  const stops = new EarlyStops();
  expect(await stops.find([OTHER, NAME], async () => 't1', gone)).toBe('t1');
  expect([stops.take(NAME), stops.take(OTHER)]).toEqual([false, false]);
});

test('stops of ten thousand unknown turns push out the oldest stop', async () => {
  const stops = new EarlyStops();
  await stops.find([NAME], findNothing, gone);
  for (let index = 0; index < 10_000; index += 1) await stops.find([['_', 'c2', `t${index}`]], findNothing, gone);
  expect([stops.take(NAME), stops.take(['_', 'c2', 't0'])]).toEqual([false, true]);
});
