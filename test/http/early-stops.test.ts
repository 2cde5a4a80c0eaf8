import { expect, test } from 'vitest';
import { EarlyStops } from '../../src/api/http/front-end/early-stops.ts';
import { fieldError } from '../../src/domain/errors.ts';

const NAME = ['_', 'c1', 't1'] as const;
const OTHER = ['_', 'c1', 't2'] as const;
const allowed = async (): Promise<void> => undefined;
const gone = { checkAccess: allowed, left: AbortSignal.abort() };
const findNothing = async (): Promise<undefined> => undefined;

test('a turn that comes after its stop has given up finds the stop, once', async () => {
  const stops = new EarlyStops();
  expect(await stops.find([NAME], findNothing, gone)).toBeUndefined();
  expect([await stops.take(OTHER), await stops.take(NAME), await stops.take(NAME)]).toEqual([false, true, false]);
});

test('a turn that comes while its stop looks for it finds the stop', async () => {
  const stops = new EarlyStops();
  let isTaken = false;
  const read = async (): Promise<string | undefined> => {
    isTaken = await stops.take(NAME);
    return isTaken ? 't1' : undefined;
  };
  expect(await stops.find([NAME], read, { checkAccess: allowed, left: new AbortController().signal })).toBe('t1');
  expect(isTaken).toBe(true);
});

test('a stop that has found its turn ends no later turn of the same name', async () => {
  const stops = new EarlyStops();
  expect(await stops.find([OTHER, NAME], async () => 't1', gone)).toBe('t1');
  expect([await stops.take(NAME), await stops.take(OTHER)]).toEqual([false, false]);
});

test('stops of ten thousand unknown turns push out the oldest stop', async () => {
  const stops = new EarlyStops();
  await stops.find([NAME], findNothing, gone);
  for (let index = 0; index < 10_000; index += 1) await stops.find([['_', 'c2', `t${index}`]], findNothing, gone);
  expect([await stops.take(NAME), await stops.take(['_', 'c2', 't0'])]).toEqual([false, true]);
});

const refusal = fieldError('access_denied', 'conversation', 'the caller may not use the conversation');

test('a stop that is refused leaves no note, and neither does a stop that fails', async () => {
  const stops = new EarlyStops();
  const refusing = { ...gone, checkAccess: () => Promise.reject(refusal) };
  await expect(stops.find([NAME], findNothing, refusing)).rejects.toBe(refusal);
  await expect(stops.find([NAME], () => Promise.reject(refusal), gone)).rejects.toBe(refusal);
  expect(await stops.take(NAME)).toBe(false);
});

test('a stop counts only while its caller may use the conversation, and hides no stop of another caller', async () => {
  const stops = new EarlyStops();
  let isRefused = false;
  const losing = { ...gone, checkAccess: () => (isRefused ? Promise.reject(refusal) : allowed()) };
  await stops.find([NAME], findNothing, losing);
  await stops.find([OTHER], findNothing, gone);
  for (let index = 0; index < 9; index += 1) await stops.find([OTHER], findNothing, losing);
  isRefused = true;
  expect([await stops.take(NAME), await stops.take(OTHER), await stops.take(OTHER)]).toEqual([false, true, false]);
});

test('a check that could not run keeps the stop for the repeated request', async () => {
  const stops = new EarlyStops();
  const outage = new Error('Redis is away');
  let isAway = false;
  const checkAccess = () => (isAway ? Promise.reject(outage) : allowed());
  await stops.find([NAME], findNothing, { ...gone, checkAccess });
  isAway = true;
  await expect(stops.take(NAME)).rejects.toBe(outage);
  isAway = false;
  expect(await stops.take(NAME)).toBe(true);
});
