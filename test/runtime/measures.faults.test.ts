import { afterEach, beforeEach, expect, test } from 'vitest';
import { SHARED_GAUGES } from '../../src/telemetry/metric-catalogue.ts';
import { readSeries } from '../telemetry/exposition.ts';
import { agentOf } from './agents.ts';
import { eventually, type Fixture, openFixture, type RunningWorkers, settled } from './fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const start = (): Promise<RunningWorkers> => fixture.startWorkers(agentOf(), { metricsPort: 0 });

async function readPage({ metricsUrl = '' }: RunningWorkers): Promise<Map<string, number>> {
  return readSeries(await (await fetch(metricsUrl)).text());
}

/** Names of the shared gauges that a page shows. */
async function listShared(workers: RunningWorkers): Promise<string[]> {
  const names = new Set([...(await readPage(workers)).keys()].map((series) => series.replace(/\{.*/, '')));
  return Object.values(SHARED_GAUGES).flatMap(({ name }) => (names.has(name) ? [name] : []));
}

/** No model has been called, and the Redis of these tests has no limit. */
const ABSENT: readonly string[] = [
  SHARED_GAUGES.modelCalibration.name,
  SHARED_GAUGES.gatePaused.name,
  SHARED_GAUGES.gateWaiting.name,
  SHARED_GAUGES.redisMemory.name,
];
const ALL = Object.values(SHARED_GAUGES).flatMap(({ name }) => (ABSENT.includes(name) ? [] : [name]));

test('one of three workers holds the lease to measure the shared state, and only that worker shows the shared gauges', async () => {
  const workers = [await start(), await start(), await start()];
  expect(await listShared(workers[0] as RunningWorkers)).toEqual(ALL);
  for (let round = 0; round < 3; round += 1) {
    const pages = await Promise.all(workers.map(listShared));
    expect(pages).toEqual([ALL, [], []]);
  }
  const measuring = await Promise.all(workers.map(async (one) => (await readPage(one)).get(MEASURING)));
  expect(measuring).toEqual([1, 0, 0]);
});

test('a worker that stops hands the measuring lease (the right to show shared gauges) to another worker at the next scrape', async () => {
  const [first, second] = [await start(), await start()];
  expect(await listShared(first)).toEqual(ALL);
  expect(await listShared(second)).toEqual([]);
  await first.close();
  expect(await listShared(second)).toEqual(ALL);
});

test('a worker takes the measuring lease (the right to show shared gauges) once the lease of a dead worker has lapsed', async () => {
  await fixture.redis.set('{tf}:measuring', 'a worker that died', 'PX', 600_000);
  const workers = await start();
  expect(await listShared(workers)).toEqual([]);
  await fixture.redis.pexpire('{tf}:measuring', 1);
  await eventually(
    () => listShared(workers),
    (shown) => expect(shown).toEqual(ALL),
  );
});

test('a worker whose metrics page is never read does not take the lease to measure the shared state', async () => {
  await start();
  expect(await fixture.redis.exists('{tf}:measuring')).toBe(0);
});

test("the metrics page shows the worker's own concurrency and its connection to Redis", async () => {
  const workers = await fixture.startWorkers(agentOf(), { roles: ['turn'], metricsPort: 0 });
  const page = await readPage(workers);
  expect(page.get('turnfold_worker_concurrency{role="turn"}')).toBe(8);
  expect(page.get('turnfold_worker_concurrency{role="compaction"}')).toBe(0);
  expect(page.get('turnfold_redis_up')).toBe(1);
  expect(page.get('turnfold_redis_ping_seconds')).toBeGreaterThan(0);
});

test('a worker takes at least one job of each queue shard, and shows that concurrency', async () => {
  const page = await readPage(await fixture.startWorkers(agentOf(), { queueShards: 6, metricsPort: 0 }));
  const taken = ['turn', 'compaction', 'summarization'].map((role) =>
    page.get(`turnfold_worker_concurrency{role="${role}"}`),
  );
  expect(taken).toEqual([8, 6, 6]);
});

test('the failure metric of a worker counts a lost Redis connection', async () => {
  const workers = await start();
  await fixture.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await fixture.redis.config('SET', 'maxclients', 1);
  await eventually(
    () => Promise.resolve(workers.events.map((event) => (event.type === 'worker_failed' ? event.where : ''))),
    (where) => expect(where).toContain('store'),
  );
  await fixture.redis.config('SET', 'maxclients', 10_000);
  const page = await readPage(workers);
  expect(page.get('turnfold_worker_failures_total{where="store"}')).toBeGreaterThan(0);
});

test('the gauge of failed turns counts a failed turn', async () => {
  const workers = await start();
  await fixture.client.enqueueTurn({ conversation: 'c', turn: 't', agent: 'nobody', input: 'hello' });
  await settled(fixture, 'c', 't');
  // Redis shows the settlement before its reply reaches the worker.
  await eventually(
    () => readPage(workers),
    (page) => {
      expect(page.get('turnfold_failed_turns')).toBe(1);
      expect(page.get('turnfold_turns_total{code="unknown_agent",outcome="failed"}')).toBe(1);
    },
  );
});

const MEASURING = 'turnfold_worker_measures_shared_state';
