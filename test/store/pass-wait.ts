import type { Redis } from 'ioredis';
import type { MemoryTurn } from '../../src/memory-store/database.ts';

/** As if the deadline of a turn's wait had passed, and with it that of the calls that have the same. */
export async function passWait(redis: Redis, key: string): Promise<void> {
  const [until = null, calls = null] = await redis.hmget(key, 'wuntil', 'wcalls');
  if (until === null) return;
  await redis.hset(key, 'wuntil', 1, 'wcalls', (calls ?? '').replaceAll(` ${until}`, ' 1'));
}

/** The same in memory. */
export function passMemoryWait(record: MemoryTurn | undefined): void {
  const { waiting } = record ?? {};
  if (record === undefined || waiting === undefined) return;
  const calls = waiting.calls.map((call) => (call.until === waiting.until ? { ...call, until: 1 } : call));
  record.waiting = { ...waiting, until: 1, calls };
}
