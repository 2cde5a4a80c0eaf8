import { expect, onTestFinished, test } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { connectStore } from '../../src/store/connect-store.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { createSweeper } from '../../src/workers/sweeper/sweeper.ts';
import { systemTimers } from '../../src/workers/timers.ts';
import { machineFactor } from '../setup/machine-factor.ts';
import { turnFor } from '../store/samples.ts';
import { hasServer, until } from './servers.ts';
import { startSixNodes } from './six-nodes.ts';

const SHARDS = 16;
/** Most milliseconds that a sweep may take while a master does not answer. */
const SWEEP_MS = 5_000;

test.skipIf(!hasServer)(
  'the sweeper wakes turns on two masters of a Cluster while the third master is dead',
  {
    timeout: 240_000,
  },
  async () => {
    const cluster = await startSixNodes();
    const keyspace = new Keyspace(SHARDS);
    const byPort = new Map<number, { ref: ConversationRef; pair: Awaited<ReturnType<typeof cluster.ownersOf>> }>();
    for (let at = 0; byPort.size < 3; at += 1) {
      const ref = { tenant: '_', id: `c${at}` };
      const pair = await cluster.ownersOf(`tf${keyspace.shardOf(ref)}`);
      if (!byPort.has(pair.master.port)) byPort.set(pair.master.port, { ref, pair });
    }
    for (const { pair } of byPort.values()) {
      await pair.master.redis.config('SET', 'cluster-require-full-coverage', 'no');
    }
    const { store, close } = await connectStore({ url: cluster.url, shards: SHARDS });
    onTestFinished(close);
    const owners = await cluster.ownersOf('tf');
    const [kept, other, lost] = [...byPort.values()].toSorted(
      (a, b) => Number(a.pair.master.port !== owners.master.port) - Number(b.pair.master.port !== owners.master.port),
    );
    if (kept === undefined || other === undefined || lost === undefined) throw new Error('three masters');

    const woken: string[] = [];
    const failures: WorkerEvent[] = [];
    let ids = 0;
    const sweeper = createSweeper({
      sweep: store,
      wakes: {
        wake: async (_, { id }) => void woken.push(id),
        isPending: async () => false,
        eraseJobs: async () => undefined,
      },
      ids: { next: () => `w${++ids}` },
      timers: systemTimers,
      onEvent: (event) => failures.push(event),
    });
    expect(await sweeper.sweepOnce()).toBe(0);
    await cluster.expectDeaths();
    lost.pair.replica.signal('SIGKILL');
    lost.pair.master.signal('SIGKILL');
    const alive = [kept.ref, other.ref];
    for (const ref of alive) await store.accept({ ...turnFor(ref, 't1'), delayMs: 1_500 });
    const startedAt = performance.now();
    await until('both turns are woken', async () => {
      const sweepAt = performance.now();
      await sweeper.sweepOnce().catch(() => undefined);
      expect(performance.now() - sweepAt).toBeLessThan(SWEEP_MS * machineFactor());
      return woken.length >= 2;
    });
    expect(performance.now() - startedAt).toBeLessThan(15_000 * machineFactor());
    expect(woken.toSorted()).toEqual(alive.map(({ id }) => id).toSorted());
    for (const ref of alive) expect(await store.readTurn(ref, 't1')).toMatchObject({ state: 'queued' });
    expect(await store.measureShards(), 'the remaining masters are measured').toMatchObject({ openPasses: 0 });

    // The sweep reports the shard on the dead master once its commands have failed.
    let failure: unknown;
    await until('the commands for the lost shards fail', async () => {
      await sweeper.sweepOnce().catch((error: unknown) => {
        failure = error;
      });
      return failure !== undefined;
    });
    expect(failure).toMatchObject({ code: 'redis_unavailable' });
    expect(failures).toEqual([]);
  },
);
