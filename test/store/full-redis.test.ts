import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { nameConversation } from '../../src/domain/ids.ts';
import { connectStore } from '../../src/store/connect-store.ts';
import { idleMember, Keyspace } from '../../src/store/keys.ts';
import { createSweeper } from '../../src/workers/sweeper/sweeper.ts';
import { systemTimers } from '../../src/workers/timers.ts';
import { hasServer, type Server, startServer } from '../redis-modes/servers.ts';
import { acceptAndClaim, newConversation, textStep, turnFor } from './samples.ts';

const SHARDS = 4;
const HOUR_MS = 3_600_000;

describe.skipIf(!hasServer)('a Redis that is full (skipped where PATH has none)', () => {
  let server: Server;
  let connected: Awaited<ReturnType<typeof connectStore>>;
  beforeAll(async () => {
    server = await startServer();
    connected = await connectStore({ url: server.url, shards: SHARDS });
  });
  afterAll(async () => {
    await connected.close();
    await server.stop();
  });

  test('on a full Redis, idle conversations expire and turns keep their due times', async () => {
    const { redis } = server;
    const { store } = connected;
    const keyspace = new Keyspace(SHARDS);
    const [rested, queued] = [newConversation(), newConversation()];
    const { lease, inputSeq } = await acceptAndClaim(store, rested, 't1');
    await store.settle(lease, { state: 'completed', answerSeq: inputSeq, conversationTtl: HOUR_MS }, 'w');
    await redis.hset(keyspace.key(rested, 'c'), 'ttl', `${HOUR_MS} 1`);
    await redis.hset(keyspace.key(rested, 'log'), inputSeq, '1 1 1 1 1 -\n{}');
    await redis.zadd(keyspace.idle(keyspace.shardOf(rested)), 1, idleMember(rested));
    await store.accept(turnFor(queued, 't1'));
    await redis.zadd(keyspace.ready(keyspace.shardOf(queued)), 1, `t|_|${queued.id}`);
    const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    await redis.config('SET', 'maxmemory', Math.floor(used / 2));
    await expect(store.accept(turnFor(queued, 't2')), 'it is full').rejects.toThrow(/OOM|memory|full/i);

    const events: WorkerEvent[] = [];
    let ids = 0;
    const sweeper = createSweeper({
      sweep: store,
      wakes: {
        wake: () => Promise.reject(new Error('full')),
        isPending: async () => false,
        eraseJobs: async () => undefined,
      },
      ids: { next: () => `id${++ids}` },
      timers: systemTimers,
      onEvent: (event) => events.push(event),
    });
    expect(await sweeper.sweepOnce()).toBe(0);
    expect(await store.readConversation(rested)).toBeUndefined();
    expect(events).toMatchObject([
      { type: 'conversation_expired', ...nameConversation(rested), removedKeys: expect.any(Number) as number },
    ]);
    expect(await redis.zscore(keyspace.ready(keyspace.shardOf(queued)), `t|_|${queued.id}`)).toBe('1');

    // Once there is nothing left to erase, every sweep reports that Redis is full.
    await redis.del(...Array.from({ length: SHARDS }, (_, shard) => keyspace.sweep(shard)));
    await expect(sweeper.sweepOnce()).rejects.toMatchObject({ code: 'redis_full' });
  });

  test('on a full Redis, a worker still gets the lease to measure the shared gauges', async () => {
    const { redis } = server;
    const { measures, store } = connected;
    await redis.config('SET', 'maxmemory', 1);
    await expect(store.accept(turnFor(newConversation(), 't1')), 'it is full').rejects.toThrow(/OOM|memory|full/i);

    expect(await measures.holdMeasuring('worker', 1_000)).toBe(true);
    expect(await measures.holdMeasuring('worker', 1_000), 'renewed').toBe(true);
    expect(await measures.holdMeasuring('another', 1_000)).toBe(false);
    expect(await measures.measureServers()).toMatchObject({ usedRatio: expect.any(Number) });
  });

  test('on a full Redis, a failed turn can be settled, but a settlement with a last step is refused as a whole', async () => {
    const { redis } = server;
    const { store } = connected;
    await redis.config('SET', 'maxmemory', 0);
    const [failed, answered] = [newConversation(), newConversation()];
    const { lease } = await acceptAndClaim(store, failed, 't1');
    const { lease: late } = await acceptAndClaim(store, answered, 't1');
    await redis.config('SET', 'maxmemory', 1);
    const failure = { code: 'turn_timeout', message: 'too late' } as const;
    expect(await store.settle(lease, { state: 'failed', failure }, 'w')).toMatchObject({ status: 'settled' });
    for (const state of ['failed', 'completed'] as const) {
      const end = state === 'failed' ? { state, failure } : { state, answerSeq: 2 };
      const settled = store.settle(late, { ...end, step: textStep('model.1', 1) }, 'w');
      await expect(settled, state).rejects.toMatchObject({ code: 'redis_full' });
    }
    expect(await store.heartbeat(late)).toMatchObject({ status: 'renewed' });
    await redis.config('SET', 'maxmemory', 0);
    expect(await store.readConversation(answered)).toMatchObject({ head: 1 });
  });
});
