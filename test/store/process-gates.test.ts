import { expect, onTestFinished, test, vi } from 'vitest';
import type { GatedAnswer, GatedModel } from '../../src/domain/gate.ts';
import { isHeldCall } from '../../src/domain/held-call.ts';
import { ModelError } from '../../src/domain/model.ts';
import { Gates } from '../../src/workers/gates.ts';
import { ManualTimers } from '../workers/turn/manual-timers.ts';
import { GateWorld } from './gate-world.ts';
import { openSuiteRedis } from './open-redis.ts';

async function open() {
  const suite = openSuiteRedis();
  const world = new GateWorld(suite);
  const prefix = `gates-${suite.keyspace.firstShard}`;
  const names = ['a', 'b'].map((name) => `${prefix}-${name}`);
  const timers = new ManualTimers();
  world.now = timers.now();
  const failures: unknown[] = [];
  const openGates = async () => {
    const gates = new Gates({ clock: timers, timers, onEvent: (event) => failures.push(event), random: () => 0 });
    gates.start(world.store);
    onTestFinished(() => gates.stop());
    return gates;
  };
  onTestFinished(async () => {
    for (const name of names) {
      const { state, waiters, due, present, calls } = suite.keyspace.gate(name);
      await suite.redis.del(state, waiters, due, present, calls);
    }
    await suite.redis.zrem(suite.keyspace.gates(), ...names);
    await suite.close();
    expect(failures).toEqual([]);
  });
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 20) {
      world.now += 20;
      await timers.advance(20);
      // A reply of Redis to what the timers began.
      await suite.redis.ping();
    }
  };
  const model = (name: string, gate: GatedModel['gate'] = {}): GatedModel => ({
    profile: { id: `${prefix}-${name}` },
    gate,
  });
  const countWaiters = (name: string) => suite.redis.zcard(suite.keyspace.gate(`${prefix}-${name}`).waiters);
  return { suite, world, timers, advance, openGates, model, countWaiters, first: await openGates() };
}

const request = (signal = new AbortController().signal) => ({ tokens: 10, signal });
const fine: GatedAnswer = {};
const answer = async () => fine;
const refuse = (options: { readonly retryAt?: number; readonly isLimit?: boolean }) => async () => {
  throw new ModelError('retry', 'rate limited', options);
};
const caught = (call: Promise<unknown>) => call.then(() => undefined).catch((error: unknown) => error);

test('a call to a model without limits writes nothing to Redis', async () => {
  const { first, model, suite } = await open();
  expect(await first.gateFor('t').pass(model('a'), request(), answer)).toBe(fine);
  expect(await suite.redis.exists(suite.keyspace.gate(model('a').profile.id).state)).toBe(0);
});

test('a call that waits at a full rate-limit gate frees its worker after a second in total', async () => {
  const { first, model, advance } = await open();
  const busy = model('a', { concurrent: 1 });
  const ends = Promise.withResolvers<GatedAnswer>();
  const calling = first.gateFor('calling').pass(busy, request(), () => ends.promise);
  await advance(20);
  const held = vi.fn<(error: unknown) => void>();
  const waiting = caught(first.gateFor('waiting').pass(busy, request(), answer)).then(held);
  await advance(1_100);
  expect(held).toHaveBeenCalledWith(expect.objectContaining({ name: 'HeldCall' }));
  await waiting;
  ends.resolve(fine);
  await calling;
});

test('a canceled call gives back its place at the rate-limit gate at once', async () => {
  const { first, model, advance, countWaiters } = await open();
  const busy = model('a', { concurrent: 1 });
  const ends = Promise.withResolvers<GatedAnswer>();
  const calling = first.gateFor('calling').pass(busy, request(), () => ends.promise);
  await advance(20);
  const abort = new AbortController();
  const waiting = caught(first.gateFor('waiting').pass(busy, request(abort.signal), answer));
  await expect.poll(() => countWaiters('a')).toBe(1);
  abort.abort(new Error('canceled'));
  expect(await waiting).toMatchObject({ message: 'canceled' });
  await expect.poll(() => countWaiters('a')).toBe(0);
  ends.resolve(fine);
  await calling;
});

test('a caller that switches to another model leaves the line of the first model’s rate-limit gate', async () => {
  const { first, model, timers, countWaiters } = await open();
  const gate = first.gateFor('t');
  const refused = await caught(gate.pass(model('a'), request(), refuse({ retryAt: timers.now() + 60_000 })));
  expect(isHeldCall(refused)).toBe(true);
  expect(await countWaiters('a')).toBe(1);
  expect(await gate.pass(model('b'), request(), answer)).toBe(fine);
  await expect.poll(() => countWaiters('a')).toBe(0);
});

test('another process obeys a pause of a rate-limit gate within a second', async () => {
  const { first, openGates, model, timers, advance } = await open();
  const other = await openGates();
  await caught(first.gateFor('t').pass(model('a'), request(), refuse({ retryAt: timers.now() + 60_000 })));
  await advance(1_100);
  let calls = 0;
  const error = await caught(
    other.gateFor('u').pass(model('a'), request(), () => {
      calls += 1;
      return answer();
    }),
  );
  expect([isHeldCall(error), calls]).toEqual([true, 0]);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 'soon', {}])(
  'the retry time of a held call is within two hours, although the model names %s',
  async (retryAt) => {
    const { first, model, timers } = await open();
    const call = refuse({ retryAt: retryAt as number, isLimit: true });
    const error = await caught(first.gateFor('t').pass(model('a'), request(), call));
    if (!isHeldCall(error)) throw new Error('the call was not held');
    const waitMs = (error.retryAt ?? Number.NaN) - timers.now();
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThan(7_200_000);
  },
);

test('a refusal without a retry time, after many answers, holds only the refused call itself', async () => {
  const { first, model } = await open();
  const overloaded = refuse({ isLimit: true });
  for (let call = 0; call < 30; call += 1) await first.gateFor(`t${call}`).pass(model('a'), request(), answer);
  const alone = await caught(first.gateFor('refused').pass(model('a'), request(), overloaded));
  expect(isHeldCall(alone)).toBe(false);
  expect(await first.gateFor('next').pass(model('a'), request(), answer)).toBe(fine);
  const again = await caught(first.gateFor('refused').pass(model('a'), request(), overloaded));
  expect(isHeldCall(again)).toBe(true);
});

test('the random delay that is added to a long wait is at most a second', async () => {
  const { suite, model, timers, world } = await open();
  const gates = new Gates({ clock: timers, timers, onEvent: () => undefined, random: () => 1 });
  gates.start(world.store);
  onTestFinished(() => gates.stop());
  const error = await caught(
    gates.gateFor('t').pass(model('a'), request(), refuse({ retryAt: timers.now() + 1_200_000 })),
  );
  if (!isHeldCall(error)) throw new Error('the call was not held');
  expect((error.retryAt ?? 0) - timers.now()).toBeLessThanOrEqual(1_201_000);
  expect(await suite.redis.exists(suite.keyspace.gate(model('a').profile.id).state)).toBe(1);
});

test('an answer that used up the calls of the account holds calls in all processes, so that the provider refuses none', async () => {
  const { first, openGates, model, timers, advance } = await open();
  const other = await openGates();
  const last = async (): Promise<GatedAnswer> => ({ nextCallAt: timers.now() + 4_000 });
  await first.gateFor('t').pass(model('a'), request(), last);
  await advance(1_100);
  const here = await caught(first.gateFor('u').pass(model('a'), request(), answer));
  const there = await caught(other.gateFor('v').pass(model('a'), request(), answer));
  expect([isHeldCall(here), isHeldCall(there)]).toEqual([true, true]);
  await advance(4_000);
  expect(await first.gateFor('u').pass(model('a'), request(), answer)).toBe(fine);
});
