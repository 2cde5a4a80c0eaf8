import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SoloHold, SoloLock } from '../../src/workers/solo-lock.ts';

const NEVER = new AbortController().signal;

/** Lets the callbacks of granted locks run. */
const settle = () => new Promise((resolve) => void setImmediate(resolve));

/** Asks for the lock, and returns an object that shows when the lock was granted. */
function ask(lock: SoloLock, isSolo: boolean, signal = NEVER) {
  const asked: { hold?: SoloHold | undefined; isAnswered: boolean } = { isAnswered: false };
  const wait = async (): Promise<void> => {
    asked.hold = await (isSolo ? lock.alone(signal) : lock.share(signal));
    asked.isAnswered = true;
  };
  void wait();
  return asked;
}

test('the process lock runs work concurrently, but runs a turn that must be alone only after all other work has ended', async () => {
  const lock = new SoloLock();
  const [one, other] = [await lock.share(NEVER), await lock.share(NEVER)];
  const solo = ask(lock, true);
  one?.release();
  await settle();
  expect([solo.isAnswered, lock.isWanted]).toEqual([false, true]);
  other?.release();
  await settle();
  expect(solo.hold).toBeDefined();
  solo.hold?.release();
  expect(lock.isWanted).toBe(false);
});

test('the process lock starts no work while a turn runs alone or waits to run alone', async () => {
  const lock = new SoloLock();
  const before = await lock.share(NEVER);
  const solo = ask(lock, true);
  const after = ask(lock, false);
  await settle();
  expect([solo.isAnswered, after.isAnswered]).toEqual([false, false]);
  before?.release();
  await settle();
  expect([solo.isAnswered, after.isAnswered]).toEqual([true, false]);
  solo.hold?.release();
  await settle();
  expect(after.isAnswered).toBe(true);
});

test('the process lock starts work without a wait, unless a turn runs alone or waits to run alone', async () => {
  const lock = new SoloLock();
  const hold = lock.shareNow();
  const solo = ask(lock, true);
  expect([hold !== undefined, lock.shareNow()]).toEqual([true, undefined]);
  hold?.release();
  await settle();
  expect([solo.isAnswered, lock.shareNow()]).toEqual([true, undefined]);
  solo.hold?.release();
  expect(lock.shareNow()).toBeDefined();
});

test('the process lock runs all waiting work before the next turn that must run alone', async () => {
  const lock = new SoloLock();
  const first = ask(lock, true);
  const second = ask(lock, true);
  const work = ask(lock, false);
  await settle();
  first.hold?.release();
  await settle();
  expect([work.isAnswered, second.isAnswered]).toEqual([true, false]);
  work.hold?.release();
  await settle();
  expect(second.isAnswered).toBe(true);
});

test('the process lock lets a turn continue beside other work after the turn gave up its exclusive lock', async () => {
  const lock = new SoloLock();
  const solo = await lock.alone(NEVER);
  const [work, next] = [ask(lock, false), ask(lock, true)];
  solo?.admitOthers();
  await settle();
  expect([work.isAnswered, next.isAnswered]).toEqual([true, false]);
  work.hold?.release();
  await settle();
  expect(next.isAnswered, 'it still runs').toBe(false);
  solo?.release();
  await settle();
  expect(next.isAnswered).toBe(true);
});

test('the process lock skips a turn that gave up waiting to run alone', async () => {
  const lock = new SoloLock();
  const held = await lock.share(NEVER);
  const giveUp = new AbortController();
  const [solo, work] = [ask(lock, true, giveUp.signal), ask(lock, false)];
  giveUp.abort();
  await settle();
  expect([solo.isAnswered, solo.hold, work.hold === undefined]).toEqual([true, undefined, false]);
  held?.release();
  expect(await lock.alone(giveUp.signal), 'given up before it asked').toBeUndefined();
});

test('the process lock ignores a second release of a lock that was already released', async () => {
  const lock = new SoloLock();
  const [one] = [await lock.share(NEVER), await lock.share(NEVER)];
  one?.release();
  one?.release();
  one?.admitOthers();
  const solo = ask(lock, true);
  await settle();
  expect(solo.isAnswered).toBe(false);
});

test('for any order of events, the process lock runs no work beside an exclusive turn, and runs all waiting work in the end', async () => {
  const event = fc.record({
    kind: fc.constantFrom('share', 'share', 'alone', 'end', 'admit', 'give up'),
    which: fc.nat(20),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const lock = new SoloLock();
      const running = new Set<{ readonly hold: SoloHold; isAlone: boolean }>();
      const waiting = new Set<{ readonly isSolo: boolean; readonly giveUp: AbortController }>();
      const enter = async (isSolo: boolean): Promise<void> => {
        const asked = { isSolo, giveUp: new AbortController() };
        waiting.add(asked);
        const { signal } = asked.giveUp;
        const hold = await (isSolo ? lock.alone(signal) : lock.share(signal));
        waiting.delete(asked);
        if (hold !== undefined) running.add({ hold, isAlone: isSolo });
      };
      const check = async (): Promise<void> => {
        await settle();
        const alone = [...running].filter(({ isAlone }) => isAlone);
        if (alone.length > 0) expect(running.size).toBe(1);
        // While some work waits, other work must be running.
        if (waiting.size > 0) expect(running.size).toBeGreaterThan(0);
      };
      for (const { kind, which } of events) {
        const one = [...running][which % Math.max(running.size, 1)];
        if (kind === 'share' || kind === 'alone') void enter(kind === 'alone');
        if (kind === 'give up') [...waiting][which % Math.max(waiting.size, 1)]?.giveUp.abort();
        if (kind === 'admit' && one !== undefined) {
          one.hold.admitOthers();
          one.isAlone = false;
        }
        if (kind === 'end' && one !== undefined) {
          running.delete(one);
          one.hold.release();
        }
        await check();
      }
      while (running.size > 0) {
        for (const one of running) {
          running.delete(one);
          one.hold.release();
        }
        await check();
      }
      expect(waiting.size).toBe(0);
      expect(lock.isWanted).toBe(false);
    }),
    { numRuns: 300 },
  );
});
