import { afterAll, expect, test, vi } from 'vitest';
import { ExistingKeys } from '../../src/store/existing-keys.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { Subscriber } from '../../src/store/redis/subscriber.ts';
import { openStreamNotices, STREAM_LIMITS } from '../../src/store/streams.ts';
import { describeBothStores } from './contract/store.ts';
import { batchOf, countNotices, piecesOf, textAt } from './contract/streams.ts';
import { openSuiteStore } from './open-redis.ts';
import { acceptAndClaim, newConversation, textStep } from './samples.ts';

describeBothStores('streams');

const { redis, keyspace, store } = openSuiteStore();
const subscriber = new Subscriber(redis);
afterAll(() => subscriber.close());

async function follow() {
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(store, conversation, 't1');
  await store.followTurn(conversation, 't1');
  return { conversation, lease, key: keyspace.stream(conversation, 't1') };
}

test('the index of a conversation contains the stream of a turn, whenever a client begins to follow the turn', async () => {
  // The index is checked at additions in one of 16 ms.
  for (let count = 0; count < 100; count += 1) {
    const { conversation } = await follow();
    expect(await redis.hkeys(keyspace.key(conversation, 'ix'))).toContain('out:t1');
  }
});

test('a hundred simultaneous checks for followed turns are answered by a few Redis commands', async () => {
  const { key } = await follow();
  const exists = vi.spyOn(redis, 'exists');
  const followed = new ExistingKeys(redis);
  const ask = (followedAt: number): Promise<boolean[]> =>
    Promise.all(Array.from({ length: 100 }, (_, at) => followed.ask(at === followedAt ? key : `${key}.${at}`)));
  const findFollowed = async (followedAt: number): Promise<number> => (await ask(followedAt)).indexOf(true);
  expect(await findFollowed(-1)).toBe(-1);
  expect(exists.mock.calls.length).toBeLessThanOrEqual(2);
  for (const at of [0, 57, 99]) expect(await findFollowed(at)).toBe(at);
  expect(exists.mock.calls.length).toBeLessThanOrEqual(2 + 3 * (2 + 2 * 7));
  exists.mockRestore();
});

test('a reader on Redis is notified of streamed text, steps and the end of its turn', async () => {
  expect(await countNotices(store, openStreamNotices(subscriber, keyspace))).toEqual([1, 2, 3, 4]);
});

test('a reader in the same process is notified of streamed text, steps and the end of its turn', async () => {
  const { store: own, close } = await openEmbeddedStore();
  expect(await countNotices(own, own)).toEqual([1, 2, 3, 4]);
  close();
});

test('the stream of an unsettled turn has no TTL, and Redis removes it five minutes after the turn is settled', async () => {
  const { lease, key } = await follow();
  expect(await redis.pttl(key)).toBe(-1);
  await store.recordStep(lease, textStep('model-1', 1));
  await store.settle(lease, { state: 'completed', answerSeq: 2 }, 'wake');
  const ttl = await redis.pttl(key);
  expect(ttl).toBeGreaterThan(STREAM_LIMITS.keptMs - 60_000);
  expect(ttl).toBeLessThanOrEqual(STREAM_LIMITS.keptMs);
});

test('a stream is removed at the end of its TTL', async () => {
  const { store: own, redis: server, close } = await openEmbeddedStore();
  const conversation = newConversation();
  const { lease } = await acceptAndClaim(own, conversation, 't1');
  await own.followTurn(conversation, 't1');
  await own.appendPieces(lease, batchOf(lease, [textAt('a')]));
  await own.recordStep(lease, textStep('model-1', 1));
  await own.settle(lease, { state: 'completed', answerSeq: 2 }, 'wake');
  const read = () => own.readStream({ conversation, turn: 't1', after: '0-0', afterSeq: 0 });
  expect(piecesOf(await read())).toHaveLength(1);
  server.database.clock = () => Date.now() + STREAM_LIMITS.keptMs;
  expect(piecesOf(await read())).toHaveLength(0);
  close();
});

test('the stream of a turn keeps at most two megabytes of streamed text, and drops the oldest', async () => {
  const { conversation, lease, key } = await follow();
  const text = 'x'.repeat(200_000);
  for (let count = 0; count < 25; count += 1) {
    await store.appendPieces(lease, batchOf(lease, [textAt(text, count * text.length)]));
  }
  expect(await redis.memory('USAGE', key)).toBeLessThan(1.2 * STREAM_LIMITS.bytes);
  const pieces = piecesOf(await store.readStream({ conversation, turn: 't1', after: '0-0', afterSeq: 0 }));
  expect(pieces.length).toBeLessThan(12);
  expect(pieces.at(-1)).toEqual(textAt(text, 24 * text.length));
});

test('the stream of a turn keeps about ten thousand batches, which readStream returns in pages', async () => {
  const { conversation, lease, key } = await follow();
  const most = STREAM_LIMITS.batches;
  const all = Array.from({ length: most + 500 }, (_, at) => batchOf(lease, [textAt('x', at)]));
  while (all.length > 0) {
    await Promise.all(all.splice(0, 500).map((batch) => store.appendPieces(lease, batch)));
  }
  const kept = await redis.xlen(key);
  expect(kept).toBeGreaterThanOrEqual(most);
  expect(kept).toBeLessThan(most + 101);
  let after = '0-0';
  let read = 0;
  for (;;) {
    const page = await store.readStream({ conversation, turn: 't1', after, afterSeq: 0 });
    read += page?.entries.length ?? 0;
    after = page?.position ?? after;
    if (page?.hasMoreEntries !== true) break;
  }
  expect(read).toBe(kept);
});

test('readStream skips entries that it cannot decode', async () => {
  const { conversation, lease, key } = await follow();
  for (const fields of [
    ['x 1 1 1 t0', 'a'],
    ['2 1 1 t0', 'a'],
    ['later', '1'],
    ['head', '1', 'cause', 'restore', 'version', '1'],
    ['head', '1', 'cause', 'pass', 'version', 'x'],
    [`2 1 ${lease.epoch} 1 z9`, 'a', 'tx', 'a', 'a1', 'a'],
  ]) {
    await redis.xadd(key, '*', ...fields);
  }
  await store.appendPieces(lease, batchOf(lease, [textAt('b')]));
  const page = await store.readStream({ conversation, turn: 't1', after: '0-0', afterSeq: 0 });
  expect(piecesOf(page)).toEqual([textAt('b')]);
  expect(page?.position).toBe(page?.entries.at(-1)?.id);
});

test('a stream key of the wrong type makes no script of its turn fail', async () => {
  const { conversation, lease, key } = await follow();
  await redis.unlink(key);
  await redis.set(key, 'x');
  await expect(store.appendPieces(lease, batchOf(lease, [textAt('a')]))).rejects.toMatchObject({
    code: 'corrupt_record',
  });
  expect(await store.recordStep(lease, textStep('model-1', 1))).toMatchObject({ status: 'recorded' });
  expect(await store.settle(lease, { state: 'completed', answerSeq: 2 }, 'wake')).toMatchObject({ status: 'settled' });
  expect(await store.readTurn(conversation, 't1')).toMatchObject({ state: 'completed' });
});
