import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { LOST_AFTER_MS } from '../../src/domain/lease.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { openConnection } from '../../src/store/redis/connection.ts';
import { useServer } from '../redis-modes/fixture.ts';
import { startSentinels } from '../redis-modes/sentinels.ts';
import { hasServer } from '../redis-modes/servers.ts';
import { startSixNodes } from '../redis-modes/six-nodes.ts';
import { words } from './agents.ts';
import { eventually, type Fixture, openFixture, SHARDS, settled } from './fixture.ts';
import { startHidingProxy } from './hiding-proxy.ts';

const keyspace = new Keyspace(SHARDS);
const conversation = { tenant: '_', id: 'c1' };
const RECORD = keyspace.key(conversation, 'c');
const LONG_MS = 600_000;
/** A worker whose key is this old is silent for longer than a living worker ever is. */
const SILENT_MS = 3_000;
/** User that may not list clients. */
const USER = 'no-clients';
const PATIENT = { timeout: 60_000, interval: 50 };
/** Looks often enough to see a key within 100 ms after its renewal. */
const RENEWED = { timeout: 60_000, interval: 5 };

/** Starts a worker process whose model calls last until `go`. */
async function startHolding(
  { redisUrl }: Pick<Fixture, 'redisUrl'>,
  ownUrl = redisUrl,
  roles = 'turn',
): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('./holding-worker.ts', import.meta.url));
  const worker = spawn(process.execPath, [script, redisUrl, ownUrl, roles], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void worker.kill('SIGKILL'));
  if (worker.stdout === null) throw new Error('the output is not piped');
  await once(worker.stdout, 'data');
  return worker;
}

/** A turn that is in the middle of a model call of one worker process, and another worker process that has no work. */
async function holdTurn(ownUrlOf = (url: string): string | Promise<string> => url) {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const { redis, redisUrl } = fixture;
  await redis.call('ACL', 'SETUSER', USER, 'on', 'nopass', '~*', '&*', '+@all', '-client|list');
  const victim = await startHolding(fixture, await ownUrlOf(redisUrl));
  await fixture.enqueue(conversation.id, 't1', 'hello');
  await eventually(
    () => redis.llen('calls'),
    (calls) => expect(calls).toBe(1),
  );
  const owner = (await redis.hget(RECORD, 'owner')) ?? '';
  const key = keyspace.worker(owner.slice(0, owner.indexOf('-')));
  // Only the victim runs, so it sweeps.
  const sweeper = await eventually(
    () => redis.get(keyspace.sweeping()),
    (found) => expect(found).not.toBeNull(),
  );
  await startHolding(fixture);
  /** Makes the lease so long that only the presence of its worker can end it. */
  const extendLease = (): Promise<number> => redis.hset(RECORD, 'lease', Date.now() + LONG_MS);
  const finish = async (): Promise<void> => {
    await redis.set('go', 1);
    expect(await settled(fixture, conversation.id, 't1')).toMatchObject({ state: 'completed' });
  };
  const calls = (): Promise<string[]> => redis.lrange('calls', '0', '-1');
  return { ...fixture, victim, key, sweeper, extendLease, finish, calls };
}

async function kill(worker: ChildProcess): Promise<void> {
  worker.kill('SIGKILL');
  await once(worker, 'exit');
}

it('another worker continues the turn of a killed worker before the lease of the turn ends', async () => {
  const { victim, extendLease, finish, calls } = await holdTurn();
  await kill(victim);
  await extendLease();
  await finish();
  expect(new Set(await calls()).size).toBe(2);
});

it('another worker continues the turns of a killed worker that was sweeping', async () => {
  const { victim, redis, sweeper, extendLease, finish, calls } = await holdTurn();
  await kill(victim);
  await extendLease();
  await vi.waitFor(async () => expect(await redis.get(keyspace.sweeping())).not.toBe(sweeper), PATIENT);
  await finish();
  expect(new Set(await calls()).size).toBe(2);
});

it('a worker that is frozen for seconds keeps its turn', async () => {
  const { victim, redis, key, extendLease, finish, calls } = await holdTurn();
  victim.kill('SIGSTOP');
  onTestFinished(() => void victim.kill('SIGCONT'));
  await extendLease();
  await vi.waitFor(async () => expect(await redis.pttl(key)).toBeLessThan(LOST_AFTER_MS - SILENT_MS), PATIENT);
  victim.kill('SIGCONT');
  await finish();
  expect(await calls()).toHaveLength(1);
});

it('a worker whose connections are cut again and again keeps its turn', async () => {
  const { redis, key, extendLease, finish, calls } = await holdTurn();
  await extendLease();
  for (let cuts = 0; cuts < 5; cuts += 1) {
    const id = await redis.get(key);
    // Without a renewal just before, a slow machine could leave the worker silent for so long that it counts as dead.
    await vi.waitFor(async () => expect(await redis.pttl(key)).toBeGreaterThan(LOST_AFTER_MS - 100), RENEWED);
    await redis.call('CLIENT', 'KILL', 'ID', String(id));
    await vi.waitFor(async () => expect(await redis.get(key)).not.toBe(id), PATIENT);
  }
  await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await finish();
  expect(await calls()).toHaveLength(1);
});

it('another worker continues the turn of a killed worker after its lease if the ACL forbids CLIENT LIST', async () => {
  const withUser = (url: string): string => Object.assign(new URL(url), { username: USER, password: 'any' }).href;
  const { victim, redis, key, finish, calls } = await holdTurn(withUser);
  expect(await redis.get(key), 'no connection is known').toBe('');
  await kill(victim);
  await finish();
  expect(new Set(await calls()).size).toBe(2);
});

it.each(['refuses', 'empties'] as const)(
  'another worker continues the turn of a killed worker after its lease behind a proxy that %s the list of clients',
  async (hiding) => {
    const { victim, redis, key, finish, calls } = await holdTurn(async (url) => {
      const proxy = await startHidingProxy(url, hiding);
      onTestFinished(() => proxy.close());
      return proxy.url;
    });
    expect(await redis.get(key), 'no connection is known').toBe('');
    await kill(victim);
    await finish();
    expect(new Set(await calls()).size).toBe(2);
  },
);

it('a worker behind a proxy that hides its clients keeps its turn while other workers look for dead workers', async () => {
  const { redis, key, extendLease, finish, calls } = await holdTurn(async (url) => {
    const proxy = await startHidingProxy(url, 'empties');
    onTestFinished(() => proxy.close());
    return proxy.url;
  });
  await extendLease();
  for (let renewal = 0; renewal < 5; renewal += 1) {
    await redis.pexpire(key, LOST_AFTER_MS / 2);
    await vi.waitFor(async () => expect(await redis.pttl(key)).toBeGreaterThan(LOST_AFTER_MS / 2), PATIENT);
  }
  await finish();
  expect(await calls()).toHaveLength(1);
});

it('another worker writes the summary of a killed worker before its claim and the wait of the pass end', async () => {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  const { redis, client } = fixture;
  const untilCalled = (count: number) =>
    eventually(
      () => redis.llen('calls'),
      (calls) => expect(calls).toBe(count),
    );
  const roles = 'compaction,summarization';
  const victim = await startHolding(fixture, fixture.redisUrl, roles);
  const said = ['user', 'assistant', 'assistant'] as const;
  const part = said.map((role) => ({ role, content: role === 'user' ? words(10) : words(400) }));
  await client.append({ conversation: conversation.id, agent: 'guide', messages: [...part, ...part, ...part] });
  await untilCalled(1);
  await startHolding(fixture, fixture.redisUrl, roles);
  await untilCalled(2);
  const claims = await redis.keys('*:sum:*');
  expect(claims).toHaveLength(2);
  for (const claim of claims) await redis.pexpire(claim, LONG_MS);
  await redis.hset(keyspace.key(conversation, 'pass'), 'parkedUntil', Date.now() + LONG_MS);
  await kill(victim);
  await redis.set('go', 1);
  await fixture.untilCompacted(conversation.id);
  const pids = await redis.lrange('calls', 0, '-1');
  expect(pids.filter((pid) => pid !== String(victim.pid))).toHaveLength(2);
});

it.skipIf(!hasServer).each([
  ['Sentinels', startSentinels],
  ['a Cluster', startSixNodes],
])(
  'over %s, another worker continues the turn of a killed worker before its lease ends (skipped where PATH has no server)',
  async (_, start) => {
    const { url } = await start();
    const { url: redisUrl, redis: notes } = await useServer();
    const redis = openConnection({ url });
    onTestFinished(() => redis.disconnect());
    const client = await openClient({ redisUrl: url, shards: SHARDS });
    onTestFinished(() => client.close());
    const untilCalled = (count: number) =>
      eventually(
        () => notes.llen('calls'),
        (calls) => expect(calls).toBe(count),
      );
    const victim = await startHolding({ redisUrl }, url);
    await client.enqueueTurn({ conversation: conversation.id, agent: 'guide', turn: 't1', input: 'hello' });
    await untilCalled(1);
    await startHolding({ redisUrl }, url);
    await redis.hset(RECORD, 'lease', Date.now() + LONG_MS);
    await kill(victim);
    await redis.hset(RECORD, 'lease', Date.now() + LONG_MS);
    await untilCalled(2);
    await notes.set('go', 1);
    const settledTurn = client.result(conversation.id, 't1', { waitMs: 60_000 });
    expect(await settledTurn).toMatchObject({ state: 'completed' });
  },
);
