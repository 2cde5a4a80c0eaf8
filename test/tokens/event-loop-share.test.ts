import { expect, test } from 'vitest';
import { EventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';

/** Longer than a quantum of the event loop share, so that each step of a task takes one whole quantum. */
const STEP_MS = 1.1;

/** A task with some steps that reports each step. */
function* work(steps: number, onStep: () => void): Generator<void, number> {
  for (let step = 1; step <= steps; step += 1) {
    const endsMs = performance.now() + STEP_MS;
    while (performance.now() < endsMs);
    onStep();
    if (step < steps) yield;
  }
  return steps;
}

test('the event loop share finishes short tasks long before long tasks that started earlier', async () => {
  const share = new EventLoopShare();
  let longSteps = 0;
  const long = Array.from({ length: 10 }, () => share.run(work(40, () => longSteps++)));
  const before = longSteps;
  await share.run(work(1, () => undefined));
  // Each long task gets one step while other tasks wait for their first, and at most as many steps go to tasks that
  // have begun.
  expect(longSteps - before).toBeLessThanOrEqual(2 * long.length + Math.ceil(8 / STEP_MS));
  await Promise.all(long);
  expect(longSteps).toBe(400);
});

test('the event loop share runs long tasks in turns', async () => {
  const share = new EventLoopShare();
  const steps = [0, 0, 0, 0];
  let apart = 0;
  const stepOf = (index: number) => () => {
    steps[index] = (steps[index] ?? 0) + 1;
    const going = steps.filter((count) => count < 30);
    if (going.length === steps.length) apart = Math.max(apart, Math.max(...steps) - Math.min(...steps));
  };
  await Promise.all(steps.map((_, index) => share.run(work(30, stepOf(index)))));
  // The first task runs alone for one share of the event loop, until the other tasks are added.
  expect(apart).toBeLessThanOrEqual(1 + Math.ceil(8 / STEP_MS));
});

test('the event loop share continues long tasks while new short tasks keep arriving', async () => {
  const share = new EventLoopShare();
  const steps = { long: 0, short: 0 };
  const long = share.run(work(20, () => steps.long++));
  while (steps.long < 20) {
    await Promise.all(Array.from({ length: 3 }, () => share.run(work(1, () => steps.short++))));
  }
  await long;
  expect(steps.short).toBeLessThanOrEqual(60);
});

test('the event loop share pauses after each share for other events, and passes on errors of its tasks', async () => {
  const share = new EventLoopShare();
  let turns = 0;
  let isDone = false;
  const countTurns = (): void => {
    turns += 1;
    if (!isDone) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  await Promise.all(Array.from({ length: 8 }, () => share.run(work(10, () => undefined))));
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(8);
  const fail = function* (): Generator<void, void> {
    yield;
    throw new Error('broken');
  };
  await expect(share.run(fail())).rejects.toThrow('broken');
  expect(await share.run(work(1, () => undefined))).toBe(1);
});
