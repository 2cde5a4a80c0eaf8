import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Durability } from '../../src/domain/durability.ts';
import { SHARDS } from './fixture.ts';
import { knowsFsyncs } from './fsyncs.ts';
import { hasServer, type Server, startReplicated, startServer, until } from './servers.ts';

/** Longer than the second between two fsyncs of `everysec`. */
const TIMEOUT_MS = 3_000;
const turn = { agent: 'guide', input: 'hello', turn: 'one' };

async function open({ url }: Server, durability: Partial<Durability>): Promise<OpenClient> {
  const client = await openClient({
    redisUrl: url,
    shards: SHARDS,
    durability: { replicas: 0, timeoutMs: TIMEOUT_MS, ...durability },
  });
  onTestFinished(() => client.close());
  return client;
}

const probe = hasServer ? await startServer() : undefined;
const canWait = probe !== undefined && (await knowsFsyncs(probe));
const why = canWait ? '' : ' (skipped: the server on PATH does not know WAITAOF, Redis 7.2 does)';

describe.skipIf(!canWait)(`a barrier of disks${why}`, () => {
  let master: Server;
  let replica: Server;
  beforeAll(async () => {
    [master, replica] = (await startReplicated(1, ['--appendonly', 'yes'])) as [Server, Server];
  });
  afterEach(async () => {
    for (const { redis } of [master, replica]) {
      await redis.config('SET', 'appendonly', 'yes');
      await redis.config('SET', 'appendfsync', 'always');
    }
    await until('all is on both disks', async () => {
      await master.redis.set('{test}:mark', '');
      const [own, others] = (await master.redis.call('WAITAOF', 1, 1, 2_000)) as number[];
      return own === 1 && others === 1;
    });
  });
  afterAll(async () => {
    await Promise.all([master, replica].map((server) => server?.stop()));
  });

  test.each(['always', 'everysec'])(
    'with appendfsync %s, the client acknowledges a turn once the configured number of disks have it',
    async (mode) => {
      for (const { redis } of [master, replica]) await redis.config('SET', 'appendfsync', mode);
      for (const durability of [
        { fsync: 'local' },
        { fsync: 'local', replicas: 1 },
        { fsync: 'replica', replicas: 1 },
      ] as const) {
        const client = await open(master, durability);
        await expect(client.enqueueTurn({ ...turn, conversation: mode })).resolves.toMatchObject({ state: 'queued' });
      }
    },
  );

  test('the client reports an accepted turn as unsure while no disk confirms it, and as sure when the call is repeated later', async () => {
    const client = await open(master, { fsync: 'local', timeoutMs: 300 });
    await master.redis.config('SET', 'appendfsync', 'no');
    const unsure = { code: 'accepted_unsure', details: { wanted: { fsynced: 1 }, reached: { fsynced: 0 } } };
    await expect(client.enqueueTurn({ ...turn, conversation: 'slow' })).rejects.toMatchObject(unsure);
    await expect(client.enqueueTurn({ ...turn, conversation: 'slow' })).rejects.toMatchObject(unsure);
    await master.redis.config('SET', 'appendfsync', 'always');
    const repeat = async (): Promise<unknown> =>
      await client.enqueueTurn({ ...turn, conversation: 'slow' }).catch(String);
    await expect.poll(repeat, { timeout: 60_000 }).toMatchObject({ isNew: false });
  });

  test('for durability on disk, a replica that has the turn only in memory does not count', async () => {
    await replica.redis.config('SET', 'appendonly', 'no');
    const inMemory = await open(master, { fsync: 'local', replicas: 1 });
    await expect(inMemory.enqueueTurn({ ...turn, conversation: 'memory' })).resolves.toMatchObject({ isNew: true });
    const onDisk = await open(master, { fsync: 'replica', replicas: 1, timeoutMs: 300 });
    await expect(onDisk.enqueueTurn({ ...turn, conversation: 'memory' })).rejects.toMatchObject({
      code: 'accepted_unsure',
      details: { wanted: { replicas: 1, fsynced: 1 }, reached: { replicas: 0 } },
    });
  });

  test('the client refuses durability on disk if the master has no append-only file, also if the file is turned off later', async () => {
    const before = await open(master, { fsync: 'local' });
    await master.redis.config('SET', 'appendonly', 'no');
    await expect(before.enqueueTurn({ ...turn, conversation: 'none' })).rejects.toMatchObject({
      code: 'accepted_unsure',
      field: 'turn',
    });
    await expect(open(master, { fsync: 'local' })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'durability.fsync',
      message: expect.stringContaining('appendonly yes'),
    });
  });
});

describe.skipIf(probe === undefined || canWait)('a server that does not know WAITAOF', () => {
  test('the client refuses durability on disk on a Redis before 7.2, and its error names the setting', async () => {
    await expect(open(probe as Server, { fsync: 'local' })).rejects.toMatchObject({
      code: 'invalid_config',
      field: 'durability.fsync',
      message: expect.stringContaining('7.2'),
    });
  });
});

afterAll(() => probe?.stop());
