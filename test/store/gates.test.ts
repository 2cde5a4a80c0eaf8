import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { GateWorld } from './gate-world.ts';
import { openSuiteRedis, type SuiteRedis } from './open-redis.ts';

/** A name of its own for each test, because the suites share a Redis. */
let gate: string;
let world: GateWorld;
let suite: SuiteRedis;
let count = 0;
beforeEach(() => {
  suite = openSuiteRedis();
  count += 1;
  gate = `test-${suite.keyspace.firstShard}-${count}`;
  world = new GateWorld(suite);
  onTestFinished(async () => {
    const { state, waiters, due, present, calls } = suite.keyspace.gate(gate);
    await suite.redis.del(state, waiters, due, present, calls);
    await suite.redis.zrem(suite.keyspace.gates(), gate);
    await suite.close();
  });
});

const enter = (waiter: string, settings = {}) => world.enter(gate, waiter, settings);
const readField = async (field: string) => Number(await suite.redis.hget(suite.keyspace.gate(gate).state, field));
const limit = (waiter: string, report = {}) => world.leave(gate, waiter, 'limited', report);

/** Lets the waiter ask as often as the gate says, and returns the ms until it passed. */
async function passAfter(waiter: string, settings = {}): Promise<number> {
  const from = world.now;
  for (;;) {
    const passage = await enter(waiter, settings);
    if (passage.status !== 'held') return world.now - from;
    world.now += passage.waitMs;
  }
}

test('the rate-limit gate of a model without limits lets every call pass, and writes nothing to Redis', async () => {
  expect(await enter('a')).toEqual({ status: 'open' });
  expect(await suite.redis.exists(suite.keyspace.gate(gate).state)).toBe(0);
});

describe('a pause of a rate-limit gate', () => {
  test('a pause of a rate-limit gate lasts as long as the provider asks, and holds every caller until then', async () => {
    const waitMs = await limit('a', { retryAfterMs: 20_000 });
    expect(waitMs).toBeGreaterThanOrEqual(19_000);
    world.now += 18_000;
    expect(await enter('b')).toMatchObject({ status: 'held' });
    world.now += 2_000;
    expect(await enter('a')).toEqual({ status: 'passed' });
  });

  test('a pause of a rate-limit gate is not shortened by a later refusal that asks for less', async () => {
    await limit('a', { retryAfterMs: 20_000 });
    await limit('b', { retryAfterMs: 1_000, callMs: 500 });
    expect((await readField('paused')) - world.now).toBe(20_000);
  });

  test('a pause of a rate-limit gate lasts at most an hour, whatever time the provider names', async () => {
    await limit('a', { retryAfterMs: 1e15 });
    expect((await readField('paused')) - world.now).toBe(3_600_000);
  });

  test('a pause without a retry time doubles with each refused probe call, up to 30 s', async () => {
    const pauses: number[] = [];
    for (let probe = 0; probe < 8; probe += 1) {
      if (probe > 0) expect(await enter('a')).toEqual({ status: 'passed' });
      await limit('a');
      pauses.push((await readField('paused')) - world.now);
      world.now = await readField('paused');
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  test('a pause without a retry time does not double once a probe call was accepted', async () => {
    await limit('a');
    world.now += 1_000;
    await passAfter('a');
    await world.leave(gate, 'a', 'answered');
    world.now += 5_000;
    await passAfter('b');
    await limit('b');
    expect((await readField('paused')) - world.now).toBeLessThanOrEqual(1_000);
  });

  test('refused probe calls leave the rate of a rate-limit gate unchanged', async () => {
    await limit('a');
    const before = await readField('rate');
    for (let probe = 0; probe < 20; probe += 1) {
      world.now = (await readField('paused')) + 500;
      expect(await enter('a')).toEqual({ status: 'passed' });
      await limit('a');
    }
    expect(await readField('rate')).toBe(before);
  });
});

describe('the line of waiters at a rate-limit gate', () => {
  test('the line at a rate-limit gate lets waiters pass in the order of their arrival, even if a later waiter asks first', async () => {
    await enter('first', { requestsPerMinute: 60 });
    await enter('second', { requestsPerMinute: 60 });
    await enter('third', { requestsPerMinute: 60 });
    world.now += 1_000;
    expect(await enter('third', { requestsPerMinute: 60 })).toMatchObject({ status: 'held' });
    expect(await enter('second', { requestsPerMinute: 60 })).toEqual({ status: 'passed' });
  });

  test('the line at a rate-limit gate does not wait for a waiter that was canceled while it slept', async () => {
    const settings = { concurrent: 1 };
    await enter('calling', settings);
    await enter('canceled', { ...settings, patienceMs: 0 });
    await enter('next', { ...settings, patienceMs: 0 });
    await world.leave(gate, 'calling', 'answered', { callMs: 3_000 });
    expect(await enter('next', settings)).toEqual({ status: 'passed' });
  });

  test('the line at a rate-limit gate does not wait for a waiter whose worker died', async () => {
    const settings = { concurrent: 1 };
    await enter('calling', settings);
    await enter('dead', settings);
    await enter('next', settings);
    await world.leave(gate, 'calling', 'answered', { callMs: 3_000 });
    expect(await enter('next', settings)).toMatchObject({ status: 'held' });
    world.now += 2_000;
    expect(await enter('next', settings)).toEqual({ status: 'passed' });
  });

  test('the line at a rate-limit gate keeps the place of a waiter that comes back late', async () => {
    const settings = { requestsPerMinute: 60 };
    await enter('calling', settings);
    await enter('late', { ...settings, patienceMs: 0 });
    world.now += 500;
    await enter('next', { ...settings, patienceMs: 0 });
    world.now += 5_000;
    expect(await enter('calling', settings)).toEqual({ status: 'passed' });
    expect(await enter('next', settings)).toMatchObject({ status: 'held' });
    expect(await enter('late', settings)).toMatchObject({ status: 'held' });
    world.now += 1_000;
    expect(await enter('next', settings)).toMatchObject({ status: 'held' });
    expect(await enter('late', settings)).toEqual({ status: 'passed' });
  });

  test('the line at a rate-limit gate neither keeps nor counts a waiter that gave back its place', async () => {
    await limit('a', { retryAfterMs: 1_000 });
    await world.leave(gate, 'a', 'left');
    const { waiters, due, present } = suite.keyspace.gate(gate);
    expect(await suite.redis.exists(waiters, due, present)).toBe(0);
  });

  test('the line at a rate-limit gate puts a refused caller before callers that never called', async () => {
    await limit('first', { retryAfterMs: 5_000 });
    await enter('waiting');
    await limit('refused', { callMs: 100 });
    expect(await suite.redis.zrange(suite.keyspace.gate(gate).waiters, '0', '-1')).toEqual([
      'refused',
      'first',
      'waiting',
    ]);
  });

  test('a rate-limit gate wakes the waiters of a long line more often than 25 times a second', async () => {
    await limit('first', { retryAfterMs: 1_000 });
    const waits: number[] = [];
    for (let waiter = 0; waiter < 2_000; waiter += 1) {
      const passage = await enter(`w${waiter}`, { patienceMs: 0 });
      if (passage.status === 'held') waits.push(passage.waitMs);
    }
    // At one call a second the last one is due after 2,000 s. A rate that doubles each second is there after 11 s.
    expect(Math.max(...waits)).toBeLessThan(20_000);
  });
});

describe('the rate of a rate-limit gate', () => {
  test('the rate of a rate-limit gate grows only while calls use up the current rate', async () => {
    await limit('a', { retryAfterMs: 1_000 });
    for (let call = 0; call < 200; call += 1) {
      world.now += 10_000;
      expect(await enter(`c${call}`)).toEqual({ status: 'passed' });
      await world.leave(gate, `c${call}`, 'answered', { callMs: 100 });
    }
    expect(await readField('rate')).toBe(1 / 1_000);
  });

  test('the rate of a rate-limit gate stops growing at a few times the rate at which calls arrive', async () => {
    await limit('a', { retryAfterMs: 0 });
    for (let call = 0; call < 2_000; call += 1) {
      world.now += 100;
      await enter(`c${call}`);
    }
    expect(await readField('rate')).toBeLessThan(50 / 1_000);
  });

  test('the rate of a rate-limit gate is lowered only once for calls that one limit refused together', async () => {
    await limit('a', { retryAfterMs: 0 });
    for (let call = 0; call < 30; call += 1) await passAfter(`c${call}`, { patienceMs: 0 });
    const before = await readField('rate');
    for (let call = 0; call < 5; call += 1) await limit(`c${call}`, { callMs: 300, retryAfterMs: 1_000 });
    expect((await readField('rate')) / before).toBeCloseTo(0.8);
  });

  test('the rate of a rate-limit gate is not lowered by one refused call among many answered calls', async () => {
    await limit('a', { retryAfterMs: 0 });
    const before = [await readField('rate'), await readField('paused'), await readField('level')];
    world.now += 1_000;
    expect(await world.leave(gate, 'b', 'refused')).toBeLessThanOrEqual(1_000);
    expect([await readField('rate'), await readField('paused'), await readField('level')]).toEqual(before);
  });
});

describe('configured limits of a rate-limit gate', () => {
  test('tokensPerMinute holds a call until the tokens of earlier calls are refilled', async () => {
    const settings = { tokensPerMinute: 60_000, tokens: 5_000 };
    expect(await enter('a', settings)).toEqual({ status: 'passed' });
    expect(await passAfter('b', { ...settings, patienceMs: 0 })).toBeGreaterThanOrEqual(5_000);
  });

  test('a refused call does not discard tokens that were refilled since the last call', async () => {
    const settings = { tokensPerMinute: 60_000, tokens: 5_000 };
    await enter('a', settings);
    world.now += 4_500;
    await limit('a', { retryAfterMs: 100 });
    world.now += 600;
    expect(await enter('b', settings)).toEqual({ status: 'passed' });
  });

  test('a call stops counting toward the limit concurrent when it reports its end, or a minute after its last renewal', async () => {
    const settings = { concurrent: 2 };
    await enter('a', settings);
    await enter('b', settings);
    expect(await enter('c', settings)).toMatchObject({ status: 'held' });
    await world.leave(gate, 'a', 'failed', { callMs: 10 });
    expect(await enter('c', settings)).toEqual({ status: 'passed' });
    expect(await enter('d', settings)).toMatchObject({ status: 'held' });
    world.now += 61_000;
    expect(await enter('d', settings)).toEqual({ status: 'passed' });
  });

  test('holdPlaces keeps the places of running calls beyond the TTL of their key', async () => {
    await enter('a', { concurrent: 1 });
    const { calls } = suite.keyspace.gate(gate);
    await suite.redis.pexpire(calls, 5_000);
    await world.store.holdPlaces(gate, ['a', 'ended']);
    expect(await suite.redis.pttl(calls)).toBeGreaterThan(50_000);
    expect(await suite.redis.zrange(calls, '0', '-1')).toEqual(['a']);
  });

  test('a full rate-limit gate gives waiters far back in its line a later time to come back than waiters in front', async () => {
    const settings = { concurrent: 1, patienceMs: 0 };
    await enter('a', settings);
    await world.leave(gate, 'a', 'answered', { callMs: 20_000 });
    await enter('b', settings);
    const waits: number[] = [];
    for (const waiter of ['c', 'd', 'e']) {
      const passage = await enter(waiter, settings);
      waits.push(passage.status === 'held' ? passage.waitMs : 0);
    }
    expect(waits).toEqual([1_500, 15_000, 30_000]);
  });
});

describe('the end of a rate-limit gate', () => {
  test('a rate-limit gate ends a minute after the last held call, although calls pass', async () => {
    await limit('a', { retryAfterMs: 1_000 });
    const { state } = suite.keyspace.gate(gate);
    world.now += 1_000;
    await suite.redis.pexpire(state, 30_000);
    expect(await enter('a')).toEqual({ status: 'passed' });
    await world.leave(gate, 'a', 'answered');
    expect(await suite.redis.pttl(state)).toBeLessThanOrEqual(30_000);
  });

  test('the next caller after the end of a rate-limit gate passes, and the gate is no longer listed', async () => {
    await limit('a', { retryAfterMs: 1_000 });
    expect(await world.store.nameGates()).toContain(gate);
    await suite.redis.del(suite.keyspace.gate(gate).state);
    expect(await enter('b')).toEqual({ status: 'open' });
    expect(await world.store.nameGates()).not.toContain(gate);
  });

  test('a rate-limit gate that holds a call removes ended gates from the list', async () => {
    const ended = `${gate}-ended`;
    await suite.redis.zadd(suite.keyspace.gates(), 1, ended);
    await limit('a', { retryAfterMs: 1_000 });
    expect(await suite.redis.zscore(suite.keyspace.gates(), ended)).toBeNull();
  });
});
