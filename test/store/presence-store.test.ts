import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { PresenceStore, WorkerPresence } from '../../src/domain/ports/presence-store.ts';
import { openPresence } from '../../src/store/presence.ts';
import { openMemoryPresenceStore } from './memory-presence-store.ts';
import { openSuiteRedis } from './open-redis.ts';

/** Milliseconds. The limit is short, because a test cannot move the clock of Redis. */
const LOST_AFTER_MS = 5;
const PATIENT = { timeout: 10_000, interval: 5 };

const nameWorker = (worker: string): WorkerPresence => ({
  worker,
  roles: ['turn', 'compaction'],
  startedAt: Date.now() - 60_000,
});

const stores: Record<string, () => PresenceStore> = {
  memory: () => openMemoryPresenceStore({ now: () => Date.now() }),
  Redis: () => {
    const { redis, keyspace, close } = openSuiteRedis();
    const own = `{tf}:workers-of-suite-${keyspace.firstShard}`;
    keyspace.workers = () => own;
    onTestFinished(async () => {
      await redis.del(own);
      await close();
    });
    return openPresence(redis, keyspace);
  },
};

describe.each(Object.entries(stores))('the presence of workers in %s', (_, open) => {
  it('renewPresence reports a worker that stopped renewing its presence once, to one caller', async () => {
    const store = open();
    const [silent, one, other] = [nameWorker('silent'), nameWorker('one'), nameWorker('other')];
    await store.renewPresence(silent);
    const found = await vi.waitUntil(async () => {
      const lost = await Promise.all([
        store.renewPresence(one, LOST_AFTER_MS),
        store.renewPresence(other, LOST_AFTER_MS),
      ]);
      return lost.flat().find(({ worker }) => worker === 'silent');
    }, PATIENT);
    expect(found).toMatchObject({ worker: 'silent', roles: ['turn', 'compaction'] });
    expect(found.livedMs).toBeGreaterThanOrEqual(50_000);
    expect(await store.renewPresence(one, 60_000)).toEqual([]);
  });

  it('renewPresence does not report a worker as lost after that worker’s ordinary stop', async () => {
    const store = open();
    const [stopped, one] = [nameWorker('stopped'), nameWorker('one')];
    await store.renewPresence(stopped);
    await store.renewPresence(nameWorker('silent'));
    await store.endPresence(stopped);
    const lost = await vi.waitUntil(async () => {
      const found = await store.renewPresence(one, LOST_AFTER_MS);
      return found.length > 0 ? found : undefined;
    }, PATIENT);
    expect(lost.map(({ worker }) => worker)).toEqual(['silent']);
  });

  it('renewPresence without an age limit reports and removes no other worker', async () => {
    const store = open();
    await store.renewPresence({ ...nameWorker('silent') });
    expect(await store.renewPresence(nameWorker('one'))).toEqual([]);
  });
});
