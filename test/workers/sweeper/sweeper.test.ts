import { describe, expect, it } from 'vitest';
import { nameConversation } from '../../../src/domain/ids.ts';
import { PASS_LIMITS } from '../../../src/domain/pass.ts';
import { TURN_LIMITS } from '../../../src/domain/turn.ts';
import { BEGUN_PRIORITY, DEFAULT_PRIORITY } from '../../../src/jobs/queues.ts';
import { idleMember } from '../../../src/store/keys.ts';
import type { SweepStore } from '../../../src/store/sweep.ts';
import { createSweeper } from '../../../src/workers/sweeper/sweeper.ts';
import { FIVE_SEQUENCES, Fixture, type FixtureOptions, ref, words } from '../compaction/fixture.ts';
import { ManualTimers, settleTasks } from '../turn/manual-timers.ts';

/** ms after a wake was recorded from which the sweeper checks that the wake is still in the queue. */
const GRACE_MS = 5_000;
/** ms between two sweeps of a shard. */
const SWEEP_MS = 1_000;

/** A queued turn or a requested compaction pass, whose wake is in the queue. */
async function openQueued(kind: 'turn' | 'pass', options: FixtureOptions = {}): Promise<Fixture> {
  const world = await Fixture.open(options);
  await world.append(FIVE_SEQUENCES);
  if (kind === 'turn') await world.accept('t1', words(20));
  else await world.request('manual');
  return world;
}

async function recordedWake(world: Fixture, kind: 'turn' | 'pass'): Promise<string | undefined> {
  const { wake, pass } = (await world.db.find(ref)) ?? {};
  return kind === 'turn' ? wake : pass?.wake;
}

describe.each(['turn', 'pass'] as const)('the sweeper and the wake (queue job) of a %s', (kind) => {
  it(`the sweeper adds the wake of a ${kind} again if the queue has lost it`, async () => {
    const world = await openQueued(kind);
    const first = await recordedWake(world, kind);
    world.queue.clear();
    expect(await world.sweeper.sweepOnce(), 'not before it could have arrived').toBe(0);
    world.db.advance(GRACE_MS);
    expect(await world.sweeper.sweepOnce()).toBe(1);
    expect(world.queue.wakes).toEqual([{ kind, wake: await recordedWake(world, kind) }]);
    expect(await recordedWake(world, kind), 'a fresh one: an id that is used again would do nothing').not.toBe(first);
    for (let sweep = 0; sweep < 20; sweep += 1) {
      world.db.advance(GRACE_MS);
      await world.sweeper.sweepOnce();
    }
    expect(world.queue.wakes, 'it is waiting now').toHaveLength(1);
  });

  it(`the sweeper adds no second wake of a ${kind} while the first wake is still in the queue`, async () => {
    const world = await openQueued(kind);
    const wakes = [...world.queue.wakes];
    world.db.advance(10 * GRACE_MS);
    expect(await world.sweeper.sweepOnce()).toBe(0);
    expect(world.queue.wakes).toEqual(wakes);
  });

  it(`the sweeper adds no wake of a ${kind} if another worker claimed the ${kind} after the sweeper read its state`, async () => {
    const world: Fixture = await openQueued(kind, {
      wrap: (ports) => ({
        ...ports,
        wakes: {
          ...ports.wakes,
          wake: (...wake) => ports.wakes.wake(...wake),
          isPending: async () => {
            if (kind === 'turn') await world.store.claim(ref, 'other', 'w');
            else await world.store.claimPass(ref, 'other', 'job', 'w');
            return false;
          },
        },
      }),
    });
    world.queue.clear();
    world.db.advance(GRACE_MS);
    expect(await world.sweeper.sweepOnce()).toBe(0);
    expect(world.queue.wakes).toEqual([]);
  });
});

it('the sweeper wakes a turn when the lease of its dead worker has lapsed', async () => {
  const world = await openQueued('turn');
  world.queue.take();
  await world.store.claim(ref, 'dead', 'w');
  world.db.advance(TURN_LIMITS.leaseMs - SWEEP_MS);
  expect(await world.sweeper.sweepOnce()).toBe(0);
  world.db.advance(SWEEP_MS);
  expect(await world.sweeper.sweepOnce()).toBe(1);
  await world.turn(ref);
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({ state: 'completed' });
});

it('the sweeper wakes a turn that a dead worker had begun before turns that no worker has begun', async () => {
  const priorities: (number | undefined)[] = [];
  const world = await openQueued('turn', {
    wrap: (ports) => ({
      ...ports,
      wakes: {
        isPending: (...wake) => ports.wakes.isPending(...wake),
        eraseJobs: (...erased) => ports.wakes.eraseJobs(...erased),
        wake: (kind, conversation, wake, options) => {
          priorities.push(options?.priority);
          return ports.wakes.wake(kind, conversation, wake, options);
        },
      },
    }),
  });
  world.queue.clear();
  world.db.advance(GRACE_MS);
  await world.sweeper.sweepOnce();
  world.queue.take();
  await world.store.claim(ref, 'dead', 'w');
  world.db.advance(TURN_LIMITS.leaseMs + GRACE_MS);
  await world.sweeper.sweepOnce();

  expect(priorities).toEqual([undefined, BEGUN_PRIORITY]);
  expect(BEGUN_PRIORITY).toBeLessThan(DEFAULT_PRIORITY);
});

it('the sweeper wakes a waiting turn only at the turn’s deadline', async () => {
  const world = await openQueued('turn');
  world.queue.clear();
  const claim = await world.store.claim(ref, 'o', 'w');
  if (claim.status !== 'claimed') throw new Error(claim.status);
  const waitMs = 86_400_000;
  const call = { id: 'c1_0', name: 'ask', arguments: '{}', waitMs };
  await world.store.suspend(claim.turn.lease, { for: 'tools', step: 'model-1', waitMs, calls: [call] });
  for (let hours = 0; hours < 23; hours += 1) {
    world.db.advance(3_600_000);
    expect(await world.sweeper.sweepOnce()).toBe(0);
  }
  expect(world.queue.wakes).toEqual([]);
  world.db.advance(3_600_000);
  expect(await world.sweeper.sweepOnce()).toBe(1);
});

it('the sweeper moves a scheduled turn to the mailbox when it is due, and wakes the turn if the mailbox was empty', async () => {
  const world = await Fixture.open();
  const later = { conversation: ref, agent: 'guide', maxQueuedTurns: 10, payloadHash: 'h' } as const;
  const input = await world.agent.weigh({ role: 'user', content: 'later' });
  for (const turn of ['t1', 't2']) {
    await world.store.accept({ ...later, turn, input, wake: `w-${turn}`, delayMs: 60_000 });
  }
  expect(await world.sweeper.sweepOnce()).toBe(0);
  world.db.advance(60_000);
  expect(await world.sweeper.sweepOnce()).toBe(1);
  expect((await world.db.find(ref))?.mailbox).toEqual(['t1', 't2']);
  expect(world.queue.wakes).toEqual([{ kind: 'turn', wake: (await world.db.find(ref))?.wake }]);
  await world.turn(ref);
  expect(await world.store.readTurn(ref, 't2')).toMatchObject({ state: 'completed' });
});

it('the sweeper wakes a compaction pass whose worker died, although the conversation has no open turn', async () => {
  const world = await openQueued('pass');
  world.queue.take();
  await world.store.claimPass(ref, 'dead', 'job', 'w');
  expect((await world.db.find(ref))?.mailbox).toEqual([]);
  world.db.advance(PASS_LIMITS.leaseMs);
  expect(await world.sweeper.sweepOnce()).toBe(1);
  const job = world.queue.take();
  if (job?.kind !== 'pass') throw new Error('no pass was woken');
  await world.runPass(job.id);
  expect(await world.readVersion()).toMatchObject({ strategy: 'summarize' });
  expect([...world.db.ready.keys()]).toEqual([]);
});

it('the sweeper does not wake a compaction pass during the first minute in which it waits for child jobs', async () => {
  const world = await openQueued('pass');
  world.queue.clear();
  await world.fanOut();
  world.db.advance(PASS_LIMITS.parkMs - SWEEP_MS);
  expect(await world.sweeper.sweepOnce()).toBe(0);
  world.db.advance(SWEEP_MS);
  expect(await world.sweeper.sweepOnce()).toBe(1);
});

const HOUR_MS = 3_600_000;

it('the sweeper erases an idle conversation at the end of its idle TTL, and reports the erase once', async () => {
  const world = await Fixture.open({ policy: { conversationTtl: HOUR_MS } });
  await world.accept('t1', 'hello');
  await world.turn(ref);
  world.db.advance(HOUR_MS - SWEEP_MS);
  await world.sweeper.sweepOnce();
  expect(await world.store.readTurn(ref, 't1')).toMatchObject({ state: 'completed' });
  world.db.advance(SWEEP_MS);
  expect(await world.sweeper.sweepOnce(), 'nobody is woken for it').toBe(0);
  expect(await world.db.find(ref)).toBeUndefined();
  expect([...world.db.ready.keys()]).toEqual([]);
  world.db.advance(HOUR_MS);
  await world.sweeper.sweepOnce();
  expect(world.eventsOf('conversation_expired')).toEqual([
    { type: 'conversation_expired', ...nameConversation(ref), removedKeys: expect.any(Number) },
  ]);
});

it('the sweeper erases no idle conversation whose compaction pass waits for approval, and the idle TTL starts again after the decision', async () => {
  const world = await Fixture.open({ policy: { conversationTtl: HOUR_MS, mode: 'review', reviewTtl: 3 * HOUR_MS } });
  await world.append(FIVE_SEQUENCES);
  await world.request('turn_threshold');
  const job = world.queue.take();
  if (job?.kind !== 'pass') throw new Error('no pass was woken');
  await world.runPass(job.id);
  expect(await world.store.readProposal(ref)).toBeDefined();
  await world.accept('t1', 'hello');
  await world.turn(ref);
  world.queue.clear();
  for (let looks = 0; looks < 2; looks += 1) {
    world.db.advance(HOUR_MS);
    await world.sweeper.sweepOnce();
    expect(await world.db.find(ref)).toBeDefined();
  }
  world.db.advance(HOUR_MS);
  expect(await world.sweeper.sweepOnce(), 'the proposal has expired').toBe(1);
  const wake = world.queue.take();
  if (wake?.kind !== 'pass') throw new Error('no pass was woken');
  await world.runPass(wake.id);
  expect((await world.db.find(ref))?.pass).toBeUndefined();
  world.db.advance(HOUR_MS - SWEEP_MS);
  await world.sweeper.sweepOnce();
  expect(await world.db.find(ref)).toBeDefined();
  world.db.advance(SWEEP_MS);
  await world.sweeper.sweepOnce();
  expect(await world.db.find(ref)).toBeUndefined();
});

/** Wraps the erase port: calls it, and changes the answer that the sweeper gets. */
const withExpire = (
  expire: (store: SweepStore, ...call: Parameters<SweepStore['expire']>) => ReturnType<SweepStore['expire']>,
): FixtureOptions => ({
  policy: { conversationTtl: HOUR_MS },
  wrap: (ports) => ({ ...ports, sweep: { ...ports.sweep, expire: (...call) => expire(ports.sweep, ...call) } }),
});

it('the sweeper wakes all due turns of all shards before it erases idle conversations', async () => {
  const done: string[] = [];
  const world: Fixture = await Fixture.open({
    policy: { conversationTtl: HOUR_MS },
    wrap: (ports) => ({
      ...ports,
      sweep: {
        ...ports.sweep,
        // Simulates two shards. The first one has the idle conversations.
        sweepShards: async (...asked) => {
          const { due, quarantined: setAside } = await ports.sweep.sweepShards(...asked);
          return { due: due.toReversed(), quarantined: setAside };
        },
        expire: (...call) => {
          done.push('expire');
          return ports.sweep.expire(...call);
        },
      },
      wakes: {
        ...ports.wakes,
        wake: (...wake) => {
          done.push('wake');
          return ports.wakes.wake(...wake);
        },
        isPending: async () => false,
        eraseJobs: async () => undefined,
      },
    }),
  });
  await world.accept('t1', 'hello');
  await world.turn(ref);
  world.db.advance(HOUR_MS);
  const input = await world.agent.weigh({ role: 'user', content: 'hello' });
  // More entries than the sweeper handles at the same time.
  for (let at = 0; at < 20; at += 1) {
    const turn = { turn: 't1', agent: 'guide', input, payloadHash: 'h', wake: `w-${at}`, maxQueuedTurns: 10 };
    await world.store.accept({ conversation: { tenant: '_', id: `c${at}` }, ...turn });
  }
  world.db.advance(GRACE_MS);
  done.length = 0;
  expect(await world.sweeper.sweepOnce()).toBe(20);
  expect(done).toEqual([...Array.from({ length: 20 }, () => 'wake'), 'expire']);
});

it('the sweeper that completes the erase of an idle conversation reports the number of all removed keys', async () => {
  const answers = [{ status: 'more' }, { status: 'resumed' }, { status: 'expired', removedKeys: 9 }] as const;
  const owners = new Set<string>();
  let calls = 0;
  const world: Fixture = await Fixture.open(
    withExpire(async (_, conversation, owner) => {
      world.db.run('ZADD', world.db.keyspace.idle(0), world.db.now() + GRACE_MS, idleMember(conversation));
      owners.add(owner);
      calls += 1;
      return answers[calls - 1] ?? { status: 'kept' };
    }),
  );
  await world.accept('t1', 'hello');
  await world.turn(ref);
  world.db.advance(HOUR_MS);
  for (const told of [0, 0, 1, 1]) {
    await world.sweeper.sweepOnce();
    expect(world.eventsOf('conversation_expired')).toHaveLength(told);
    world.db.advance(GRACE_MS);
  }
  expect(world.eventsOf('conversation_expired')).toMatchObject([{ ...nameConversation(ref), removedKeys: 9 }]);
  expect(owners.size, 'each call has its own').toBe(4);
});

it('the sweeper does not report an idle conversation whose erase failed, and a later sweep erases the conversation', async () => {
  let failures = 1;
  const world = await Fixture.open(
    withExpire(async (store, ...call) => {
      failures -= 1;
      if (failures >= 0) throw new Error('away');
      return await store.expire(...call);
    }),
  );
  await world.accept('t1', 'hello');
  await world.turn(ref);
  world.db.advance(HOUR_MS);
  await world.sweeper.sweepOnce();
  expect(world.events.map(({ type }) => type)).not.toContain('conversation_expired');
  world.db.advance(GRACE_MS);
  await world.sweeper.sweepOnce();
  expect(world.eventsOf('conversation_expired')).toHaveLength(1);
});

it('a sweep continues with the other entries of due work after one entry fails, and reports the failure', async () => {
  const world: Fixture = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      sweep: {
        ...ports.sweep,
        inspectTurn: (conversation) =>
          conversation.id === 'c3' ? Promise.reject(new Error('broken')) : ports.sweep.inspectTurn(conversation),
      },
    }),
  });
  const input = await world.agent.weigh({ role: 'user', content: 'hello' });
  // More entries than the sweeper handles at the same time.
  const names = Array.from({ length: 40 }, (_, index) => `c${index}`);
  for (const id of names) {
    const turn = { turn: 't1', agent: 'guide', input, payloadHash: 'h', wake: `w-${id}`, maxQueuedTurns: 10 };
    await world.store.accept({ conversation: { tenant: '_', id }, ...turn });
  }
  world.db.advance(GRACE_MS);
  expect(await world.sweeper.sweepOnce()).toBe(39);
  expect(world.eventsOf('worker_failed')).toMatchObject([
    { where: 'sweeper', conversation: 'c3', error: new Error('broken') },
  ]);
});

it('a sweep continues with the other entries of due work while one entry hangs, and starts that entry again after half a minute', async () => {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const world: Fixture = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      sweep: {
        ...ports.sweep,
        inspectTurn: async (conversation) => {
          begun.push(conversation.id);
          if (conversation.id === 'c3') await gate.promise;
          return await ports.sweep.inspectTurn(conversation);
        },
      },
    }),
  });
  const input = await world.agent.weigh({ role: 'user', content: 'hello' });
  const names = Array.from({ length: 40 }, (_, index) => `c${index}`);
  for (const id of names) {
    const turn = { turn: 't1', agent: 'guide', input, payloadHash: 'h', wake: `w-${id}`, maxQueuedTurns: 10 };
    await world.store.accept({ conversation: { tenant: '_', id }, ...turn });
  }
  world.queue.clear();
  world.db.advance(GRACE_MS);
  const sweep = world.sweeper.sweepOnce();
  await settleTasks();
  expect(begun, 'it holds no more than its own lane').toHaveLength(40);
  await world.timers.advance(2_000);
  expect(await sweep).toBe(39);
  world.db.advance(GRACE_MS);
  await world.sweeper.sweepOnce();
  expect(begun.filter((id) => id === 'c3')).toHaveLength(1);
  await world.timers.advance(30_000);
  world.db.advance(60_000);
  void world.sweeper.sweepOnce();
  await settleTasks();
  expect(begun.filter((id) => id === 'c3')).toHaveLength(2);

  gate.resolve();
  await settleTasks();
  expect(world.queue.wakes, 'late it is woken, too, by both').toHaveLength(41);
  expect(world.timers.pending).toBe(0);
});

it('the sweeper sweeps every second until it is stopped, even after a failure', async () => {
  let sweeps = 0;
  const world = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      sweep: {
        ...ports.sweep,
        sweepDue: () => {
          sweeps += 1;
          return Promise.reject(new Error('away'));
        },
      },
    }),
  });
  world.sweeper.start();
  await world.timers.advance(3_000);
  expect(sweeps).toBe(3);
  expect(world.eventsOf('worker_failed')).toHaveLength(3);
  void world.sweeper.stop();
  await world.timers.advance(3_000);
  expect(sweeps).toBe(3);
  expect(world.timers.pending).toBe(0);
});

it('the process that sweeps runs each chore of its list twice a second, unless the chore is still running', async () => {
  const world = await Fixture.open();
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const slow = async (): Promise<void> => {
    done.push('slow');
    await gate.promise;
  };
  const quick = async (): Promise<void> => {
    done.push('quick');
  };
  world.sweeper.start([slow, quick]);
  for (let beat = 0; beat < 4; beat += 1) {
    world.db.advance(500);
    await world.timers.advance(500);
  }
  expect(done).toEqual(['slow', 'quick', 'quick', 'quick', 'quick']);
  gate.resolve();
  await settleTasks();
  world.db.advance(500);
  await world.timers.advance(500);
  expect(done.filter((name) => name === 'slow')).toHaveLength(2);
  await world.sweeper.stop();
});

it('only one of two processes sweeps, and the other takes over within two seconds after the first died or stopped', async () => {
  const world = await Fixture.open();
  const sweeps: string[] = [];
  const open = (name: string) =>
    createSweeper({
      ...world.ports,
      sweep: {
        ...world.store,
        sweepDue: async () => {
          sweeps.push(name);
          return { due: [], quarantined: [] };
        },
      },
      timers: name === 'first' ? dying : world.timers,
    });
  // A process whose timers no longer fire is dead.
  const dying = new ManualTimers();
  const advance = async (ms: number, isAlive = true): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      world.db.advance(500);
      if (isAlive) await dying.advance(500);
      await world.timers.advance(500);
    }
  };
  open('first').start();
  const second = open('second');
  second.start();
  await advance(4_000);
  expect(new Set(sweeps)).toEqual(new Set(['first']));
  await advance(2_000, false);
  expect(sweeps).toContain('second');

  const third = open('third');
  third.start();
  await second.stop();
  await advance(1_000, false);
  expect(sweeps.at(-1)).toBe('third');
  await third.stop();
});

it('a process that cannot read the lease to sweep reports the error and still sweeps', async () => {
  let sweeps = 0;
  const world = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      sweep: {
        ...ports.sweep,
        holdSweeping: () => Promise.reject(new Error('denied')),
        sweepDue: async () => {
          sweeps += 1;
          return { due: [], quarantined: [] };
        },
      },
    }),
  });
  world.sweeper.start();
  await world.timers.advance(3_000);
  expect(sweeps).toBeGreaterThanOrEqual(3);
  expect(world.eventsOf('worker_failed')).not.toHaveLength(0);
  await world.sweeper.stop();
});

it('the lease to sweep is renewed during a long sweep, and given up if the sweep does not end', async () => {
  const gate = Promise.withResolvers<never>();
  const world = await Fixture.open({
    wrap: (ports) => ({ ...ports, sweep: { ...ports.sweep, sweepDue: () => gate.promise } }),
  });
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      world.db.advance(500);
      await world.timers.advance(500);
    }
  };
  world.sweeper.start();
  await advance(8_000);
  expect(await world.store.holdSweeping('other', 1_000)).toBeUndefined();
  await advance(8_000);
  expect(await world.store.holdSweeping('other', 1_000)).toEqual(expect.any(Number));
  void world.sweeper.stop();
  gate.reject(new Error('late'));
  await settleTasks();
});

it('a sweep that a stopping worker interrupts reports no failure', async () => {
  const gate = Promise.withResolvers<never>();
  const world = await Fixture.open({
    wrap: (ports) => ({ ...ports, sweep: { ...ports.sweep, sweepDue: () => gate.promise } }),
  });
  world.sweeper.start();
  await world.timers.advance(1_000);
  void world.sweeper.stop();
  gate.reject(new Error('Connection is closed.'));
  await settleTasks();
  expect(world.events).toEqual([]);
});
