/**
 * Measures the CPU time that Redis takes to record one tool result, by the number of unanswered calls of the turn:
 * `node bench/tool-results.ts [--json]`. Redis times its scripts itself, so the network does not count.
 */
import type { Redis } from 'ioredis';
import { Keyspace } from '../src/store/keys.ts';
import type { Store } from '../src/store/open-store.ts';
import { openStore } from '../src/store/open-store.ts';
import { openConnection } from '../src/store/redis/connection.ts';
import { acceptAndClaim, callsStep, claimHead, newConversation, resultStep, toWaitFor } from '../test/store/samples.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';

/** Numbers of unanswered calls. 1,000 is the maximum in one message. */
const CALLS = [1, 10, 100, 1_000];
const RESULTS = sampleSize(1_000, 20);

interface Row {
  readonly openCalls: number;
  /** CPU time of Redis to record one result, in µs. The worker ran the tool itself. */
  readonly recordedUs: number;
  /** CPU time of Redis to record one result, in µs. The turn was suspended until a service sent it. */
  readonly awaitedUs: number;
}

/** Returns how many scripts ran since the last call, and their mean time. */
async function readScripts(redis: Redis): Promise<{ readonly calls: number; readonly meanUs: number }> {
  const [, calls = 0, us = 0] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(await redis.info('commandstats')) ?? [];
  await redis.config('RESETSTAT');
  return { calls: Number(calls), meanUs: Number(us) / Number(calls) };
}

async function measure(redis: Redis, store: Store, openCalls: number, isAwaited: boolean): Promise<number> {
  let totalUs = 0;
  const rounds = Math.max(1, Math.ceil(Math.min(RESULTS, 200 * openCalls) / openCalls));
  for (let round = 0; round < rounds; round += 1) {
    const conversation = newConversation();
    let { lease } = await acceptAndClaim(store, conversation, 't');
    const step = callsStep('m1', 1, openCalls);
    await store.recordStep(lease, step);
    const ids = step.opens.map(({ id }) => id);
    if (isAwaited) {
      await store.suspend(lease, { for: 'tools', step: 'm1', waitMs: 1, calls: toWaitFor(ids, 1) });
      await new Promise((resolve) => setTimeout(resolve, 10));
      ({ lease } = await claimHead(store, conversation));
    }
    await readScripts(redis);
    for (const id of ids) await store.recordStep(lease, resultStep(`t:${id}`, id));
    totalUs += (await readScripts(redis)).meanUs;
    await store.erase(conversation);
  }
  return Math.round((10 * totalUs) / rounds) / 10;
}

const server = await openBenchRedis();
const redis = openConnection({ url: server.url });
const rows: Row[] = [];
try {
  const store = openStore(redis, new Keyspace(16));
  // The first round only loads the scripts into Redis.
  await measure(redis, store, 10, true);
  for (const openCalls of CALLS) {
    const recordedUs = await measure(redis, store, openCalls, false);
    rows.push({ openCalls, recordedUs, awaitedUs: await measure(redis, store, openCalls, true) });
  }
} finally {
  await redis.quit();
  await server.stop();
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ rows }));
else {
  console.log('CPU time of Redis to record one tool result (µs)');
  console.table(rows);
}
