import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Durability } from '../../src/domain/durability.ts';
import { ERASE_BATCH } from '../../src/store/erase.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { hasServer, type Server, startReplicated, until } from './servers.ts';

const TIMEOUT_MS = 300;
/** For calls that must succeed on a slow machine. */
const PATIENT: Durability = { replicas: 1, timeoutMs: 3_000 };
const turn = { conversation: 'c', agent: 'guide', input: 'hello' };
let master: Server;
let replica: Server;

describe.skipIf(!hasServer)('the durability barrier (skipped where PATH has no redis-server or valkey-server)', () => {
  beforeAll(async () => {
    [master, replica] = (await startReplicated(1)) as [Server, Server];
  });
  afterEach(async () => {
    replica.signal('SIGCONT');
    await master.redis.config('SET', 'maxmemory', 0);
    await until('the replica follows', async () => {
      await master.redis.set('{test}:mark', '');
      return (await master.redis.wait(1, 100)) === 1;
    });
    await master.redis.flushdb();
  });
  afterAll(async () => {
    await Promise.all([master, replica].map((server) => server.stop()));
  });

  async function open(durability: Durability = { replicas: 1, timeoutMs: TIMEOUT_MS }): Promise<OpenClient> {
    const client = await openClient({ redisUrl: master.url, shards: 4, durability });
    onTestFinished(() => client.close());
    return client;
  }

  test('the client reports an accepted turn and an append as done once the replica has them', async () => {
    const client = await open(PATIENT);
    const keys = async (): Promise<string[]> => (await replica.redis.keys('*:_:c:*')).toSorted();
    expect(await client.enqueueTurn({ ...turn, turn: 'one' })).toMatchObject({ state: 'queued', isNew: true });
    expect(await keys()).toEqual([expect.stringMatching(/:c:c$/)]);
    const messages = [{ role: 'user' as const, content: 'hello' }];
    expect(await client.append({ conversation: 'd', agent: 'guide', messages })).toEqual({ from: 1, to: 1 });
    expect(await keys()).toHaveLength(2);
  });

  test('while the replica is frozen, the client reports an accepted turn as unsure, also when the call is repeated', async () => {
    const client = await open();
    // All connections have written, but none of them wrote this turn.
    const writes = Array.from({ length: 8 }, (_, at) => client.enqueueTurn({ ...turn, conversation: `w${at}` }));
    await Promise.allSettled(writes);
    replica.signal('SIGSTOP');
    const unsure = { code: 'accepted_unsure', field: 'turn', details: { turn: 'one', wanted: { replicas: 1 } } };
    for (let times = 0; times < 6; times += 1) {
      await expect(client.enqueueTurn({ ...turn, turn: 'one' })).rejects.toMatchObject(unsure);
    }
    await expect(client.enqueueTurn({ ...turn, turn: 'one', input: 'else' })).rejects.toMatchObject({
      code: 'turn_conflict',
    });
    replica.signal('SIGCONT');
    await until('the replica is back', () =>
      client.enqueueTurn({ ...turn, turn: 'one' }).then(
        ({ isNew, state }) => !isNew && state === 'queued',
        () => false,
      ),
    );
    expect(await replica.redis.lrange((await replica.redis.keys('*:mb:c'))[0] ?? '', 0, -1)).toEqual(['one']);
  });

  test('client reads return at once while 300 writes wait for the replica', async () => {
    const client = await open({ replicas: 1, timeoutMs: 5_000 });
    await client.enqueueTurn({ ...turn, turn: 'one' });
    replica.signal('SIGSTOP');
    const waiting = Promise.all(
      Array.from({ length: 300 }, (_, at) => client.enqueueTurn({ ...turn, conversation: `n${at}` })),
    );
    let hasEnded = false;
    const ended = waiting.finally(() => {
      hasEnded = true;
    });
    for (let times = 0; times < 20; times += 1) await client.result('c', 'one');
    await client.describe('c');
    expect(hasEnded).toBe(false);
    replica.signal('SIGCONT');
    expect(await ended).toHaveLength(300);
  });

  test('after a server lost its cached scripts, the client sends the scripts again and still waits for the replica', async () => {
    const client = await open(PATIENT);
    await client.enqueueTurn(turn);
    await master.redis.script('FLUSH');
    await client.enqueueTurn({ ...turn, conversation: 'again' });
    expect(await replica.redis.keys('*:c:again')).toHaveLength(1);
    await master.redis.script('FLUSH');
    replica.signal('SIGSTOP');
    await expect(client.enqueueTurn({ ...turn, conversation: 'third' })).rejects.toMatchObject({
      code: 'accepted_unsure',
    });
  });

  test('an erase of several batches completes on a full Redis although it waits for replicas', async () => {
    const client = await open(PATIENT);
    await client.enqueueTurn({ ...turn, conversation: 'full' });
    const keyspace = new Keyspace(4);
    const ref = { tenant: '_', id: 'full' };
    const turns = Array.from({ length: 2 * ERASE_BATCH }, (_, at) => `x${at}`);
    for (const id of turns) await master.redis.hset(keyspace.turn(ref, id), 'state', 'completed');
    await master.redis.hset(keyspace.key(ref, 'ix'), Object.fromEntries(turns.map((id) => [`t:${id}`, ''])));
    await master.redis.config('SET', 'maxmemory', 1);

    const { removedKeys } = await client.erase('full');
    expect(removedKeys).toBeGreaterThan(2 * ERASE_BATCH);
    expect(await master.redis.exists(keyspace.key(ref, 'ix'))).toBe(0);
  });

  test('openClient refuses a durability option without a timeout', async () => {
    await expect(open({ replicas: 1, timeoutMs: 0 })).rejects.toMatchObject({
      code: 'invalid_input',
      field: 'durability.timeoutMs',
    });
  });
});
