import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { fleetSchema } from '../../src/api/contract/server.ts';
import { createHttpApp } from '../../src/api/http/app.ts';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { LOST_AFTER_MS } from '../../src/domain/lease.ts';
import { type Fleet, type FleetOptions, openFleet } from '../../src/host/health/fleet.ts';
import { SHARDS } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';

const GRAFANA = 'https://grafana.example/d/turnfold';

let http: HttpFixture;
let fleet: Fleet;
beforeAll(async () => {
  http = await openHttpFixture();
  fleet = await open({ keptMs: 0 });
});
afterAll(async () => {
  await fleet.close();
  await http.close();
});

async function open(over: Partial<FleetOptions>): Promise<Fleet> {
  const options = { shards: SHARDS, queueShards: 1, inbox: false, stuckMs: 60_000, grafanaUrl: GRAFANA };
  return await openFleet({ url: http.url, ...options, onError: () => undefined, ...over });
}

async function readFleet() {
  const { url, stop } = await http.serve({ fleet: () => fleet.read() });
  const answer = await send(`${url}/v1/fleet`, 'GET');
  await stop();
  expect(answer.status).toBe(200);
  return fleetSchema.parse(answer.body);
}

test('without workers, the fleet report shows the waiting mailbox and findings that name what to start', async () => {
  await http.client.enqueueTurn({ conversation: 'waits', agent: 'talker', turn: 't1', input: 'hello' });
  const { workers, mailboxes, queues, findings, grafanaUrl } = await readFleet();
  expect(workers).toEqual([]);
  expect(mailboxes).toMatchObject({ waiting: 1, oldestMs: expect.any(Number) as number });
  expect(queues.map(({ queue }) => queue)).toEqual(['turn', 'compaction', 'summarization']);
  expect(queues[0]).toMatchObject({ workers: 0, isPaused: false });
  expect(queues[0]?.waits.at(-1)).toBeGreaterThan(0);
  expect(queues[1]?.waits.at(-1)).toBe(0);
  expect(findings).toContainEqual(expect.objectContaining({ name: 'turn workers', state: 'wrong' }));
  expect(grafanaUrl).toBe(GRAFANA);
});

test('with workers, the fleet report shows them alive and counts jobs that end in this minute', async () => {
  await http.startWorkers();
  await http.client.result('waits', 't1');
  await expect.poll(async () => (await readFleet()).queues[0]?.finished.reduce((sum, n) => sum + n, 0)).toBe(1);
  const { workers, mailboxes, queues, failedTurns } = await readFleet();
  expect(workers).toHaveLength(1);
  expect(workers[0]).toMatchObject({ isLost: false, roles: ['turn', 'compaction', 'summarization'] });
  expect(mailboxes.waiting).toBe(0);
  expect(queues[0]).toMatchObject({ workers: 1 });
  expect(queues[0]?.finished).toHaveLength(60);
  expect(failedTurns).toEqual(Array.from({ length: 60 }, () => 0));
});

test('the fleet report shows a dead worker, a failed turn, a quarantined record and a failing webhook', async () => {
  const now = Date.now();
  await http.redis.hset('{tf}:workers', 'gone', `turn|${now - 90_000}`);
  await http.redis.zadd('{tf0}:failed', now - 120_000, '_|lost|t1');
  await http.redis.hset('{tf1}:quarantined', 'ready t|_|broken', `${now} 0 the record is not JSON`);
  const { webhook } = await http.client.webhooks.add({ tenant: '_', url: 'https://example.com/hook?secret=1' });
  await http.redis.hset(`{tf}:webhook:${webhook.id}`, {
    failingSince: String(now),
    failures: '3',
    lastFailure: 'status 500',
  });
  const { workers, failedTurns, quarantined, webhooks, findings } = await readFleet();
  expect(workers.find(({ worker }) => worker === 'gone')).toMatchObject({ isLost: true });
  expect(failedTurns.slice(-4).reduce((sum, count) => sum + count, 0)).toBe(1);
  expect(quarantined).toMatchObject([{ shard: 1, name: 'ready t|_|broken', why: 'the record is not JSON' }]);
  expect(findings).toContainEqual(expect.objectContaining({ name: 'corrupt records', state: 'wrong' }));
  expect(webhooks).toMatchObject([{ origin: 'https://example.com', state: 'failing', lastFailure: 'status 500' }]);
  expect(JSON.stringify(webhooks)).not.toContain('secret');
});

test('the fleet report counts every failure of the last hour, however many turns of a shard failed', async () => {
  const before = (await readFleet()).failedTurns.reduce((sum, count) => sum + count, 0);
  const now = Date.now();
  const members = Array.from({ length: 3_000 }, (_, at) => [now - 120_000 + at, `_|many|t${at}`] as const);
  await http.redis.zadd('{tf2}:failed', ...members.flat());
  await http.redis.zadd('{tf3}:failed', now - 3_700_000, '_|many|old');
  const { failedTurns } = await readFleet();
  expect(failedTurns.reduce((sum, count) => sum + count, 0)).toBe(before + 3_000);
});

test('the fleet report shows workers alive and failures in their minutes to a viewer whose clock is ahead', async () => {
  const now = Date.now();
  await http.redis.hset('{tf}:workers', 'ahead', `turn|${now}`);
  await http.redis.set('{tf}:worker:ahead', '', 'PX', LOST_AFTER_MS);
  const seen = await readFleet();
  vi.useFakeTimers({ toFake: ['Date'], now: now + 40 * 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { workers, failedTurns, at } = await readFleet();
  expect(workers.find(({ worker }) => worker === 'ahead')).toMatchObject({ isLost: false });
  expect(at).toBeLessThan(now + 20 * 60_000);
  expect(failedTurns.slice(-8).reduce((sum, count) => sum + count, 0)).toBe(
    seen.failedTurns.slice(-8).reduce((sum, count) => sum + count, 0),
  );
});

test('simultaneous requests share one reading of the fleet, and later requests get the same report for a while', async () => {
  const [one, other] = await Promise.all([fleet.read(), fleet.read()]);
  expect(one).toBe(other);
  expect(await fleet.read()).not.toBe(one);
  const keeping = await open({ keptMs: 600_000 });
  onTestFinished(() => keeping.close());
  const kept = await keeping.read();
  expect(await keeping.read()).toBe(kept);
});

test('the fleet report needs a key of the default tenant with the scope admin, and a server that reads the fleet', async () => {
  const { keys } = http.client;
  const { url, stop } = await http.serve({ authenticate: authenticateByKey(keys), fleet: () => fleet.read() });
  const ask = async (tenant: string, scope: 'read' | 'admin') => {
    const { token } = await keys.create({ tenant, scopes: [scope] });
    return await send(`${url}/v1/fleet`, 'GET', { headers: { authorization: `Bearer ${token}` } });
  };
  expect(outline(await ask('_', 'read'))).toMatchObject({ status: 403, code: 'forbidden' });
  expect(outline(await ask('acme', 'admin'))).toMatchObject({ status: 403, code: 'forbidden' });
  expect((await ask('_', 'admin')).status).toBe(200);
  await stop();
});

test('a server that does not read the fleet says so in its answer to a fleet request', async () => {
  const answer = await createHttpApp({ client: http.client, authenticate: 'none' }).fetch(
    new Request('http://127.0.0.1/v1/fleet'),
  );
  expect([answer.status, await answer.json()]).toMatchObject([501, { code: 'not_offered', field: 'fleet' }]);
});
