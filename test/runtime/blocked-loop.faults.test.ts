import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { Keyspace, readyMember } from '../../src/store/keys.ts';
import { eventually, type Fixture, openFixture, SHARDS, settled } from './fixture.ts';

const SCRIPT = fileURLToPath(new URL('./blocking-worker.ts', import.meta.url));
const REF = { tenant: '_', id: 'blocked' };
const keyspace = new Keyspace(SHARDS);
const RECORD = keyspace.key(REF, 'c');

async function startBlocking({ redisUrl }: Fixture, ...times: readonly number[]): Promise<ChildProcess> {
  const worker = spawn(process.execPath, [SCRIPT, redisUrl, ...times.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void worker.kill('SIGKILL'));
  if (worker.stdout === null) throw new Error('the output is not piped');
  await once(worker.stdout, 'data');
  return worker;
}

it('a tool that blocks the event loop for longer than a lease runs once, and so do the other turns of its process', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const { redis } = fixture;
  await startBlocking(fixture, 12_000);
  const neighbours = ['n1', 'n2', 'n3'];
  for (const id of neighbours) await fixture.enqueue(id, 't1', id);
  await eventually(
    () => redis.hlen('calls'),
    (calls) => expect(calls).toBe(neighbours.length),
  );
  await fixture.enqueue(REF.id, 't1', 'block');
  await eventually(
    () => redis.hget('runs', REF.id),
    (runs) => expect(runs).toBe('1'),
  );
  // These workers look for leases that have lapsed.
  await startBlocking(fixture, 12_000);
  for (const id of [REF.id, ...neighbours]) {
    expect(await settled(fixture, id, 't1')).toMatchObject({ state: 'completed', answer: { content: 'done' } });
  }
  expect(await redis.hgetall('runs')).toEqual({ [REF.id]: '1' });
  expect(await redis.hgetall('calls')).toEqual({ block: '2', n1: '1', n2: '1', n3: '1' });
  const blocks = (await redis.lrange('blocks', 0, -1)).map((text): unknown => JSON.parse(text));
  expect(blocks).toEqual([{ ms: expect.any(Number), cause: expect.stringContaining('the tool "block"') }]);
});

it('a turn whose tool blocks each worker for longer than blockedMs fails as poison, and the failure names the tool', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const { redis } = fixture;
  await fixture.enqueue(REF.id, 't1', 'block');
  for (let claim = 1; claim <= TURN_LIMITS.maxAttempts; claim += 1) {
    await startBlocking(fixture, 600_000, 3_000);
    await eventually(
      async () => [await redis.hget('runs', REF.id), await redis.hexists(RECORD, 'blocked')],
      (seen) => expect(seen).toEqual([String(claim), 1]),
    );
    // As if the rest of the lease had passed.
    await redis.hset(RECORD, 'lease', 1);
    await redis.zadd(keyspace.ready(keyspace.shardOf(REF)), 1, readyMember('t', REF));
  }
  await startBlocking(fixture, 600_000, 3_000);
  expect(await settled(fixture, REF.id, 't1')).toMatchObject({
    state: 'failed',
    failure: {
      code: 'poison',
      message: expect.stringMatching(/Its event loop was blocked for more than 3 s (by|while) the tool "block"/),
    },
  });
});
