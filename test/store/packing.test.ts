import * as fc from 'fast-check';
import { describe, expect, type MockInstance, test, vi } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { PackedLog } from '../../src/domain/log-packing.ts';
import type { Message } from '../../src/domain/message.ts';
import { namePack, pack, readPackName, unpack } from '../../src/store/packs.ts';
import { type Argument, Script } from '../../src/store/script.ts';
import { hasTraces, readConversationFiles } from '../wire/traces.ts';
import { describeBothStores } from './contract/store.ts';
import { openSuiteStore } from './open-redis.ts';
import { appendOf, claimPass, commitOf, makeConversation } from './pass-samples.ts';
import { restConversation } from './rest-conversation.ts';
import { newConversation, weigh } from './samples.ts';

describeBothStores('packing');

const { redis, keyspace, store } = openSuiteStore();

/** Creates a conversation with 40 messages, of which the context shows a summary of the first 30. */
async function makeSummarized(): Promise<ConversationRef> {
  const conversation = await makeConversation(store, 40);
  const { lease } = await claimPass(store, conversation);
  expect(await store.commitVersion(lease, commitOf(0, 30))).toMatchObject({ status: 'ended' });
  return conversation;
}

/** @returns the names of the packs */
async function packAll(conversation: ConversationRef): Promise<string[]> {
  expect((await store.packLog(conversation)).entries).toBe(30);
  return await redis.hkeys(keyspace.key(conversation, 'pk'));
}

const all = [{ from: 1, to: 40 }];

describe('packs in Redis', () => {
  test('a pack removes its entries from the log, and an erase removes the packs', async () => {
    const conversation = await makeSummarized();
    expect(await packAll(conversation)).toEqual(['1-30']);
    const left = (await redis.hkeys(keyspace.key(conversation, 'log'))).map(Number);
    expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 10 }, (_, at) => 31 + at));
    expect(await redis.pttl(keyspace.key(conversation, 'pk')), 'no TTL').toBe(-1);
    await store.erase(conversation);
    expect(await redis.exists(keyspace.key(conversation, 'pk'))).toBe(0);
  });

  test('a log entry that changes while it is packed stays in the log, with all other entries of its pack', async () => {
    const conversation = await makeSummarized();
    const key = keyspace.key(conversation, 'log');
    const packed = await packDuring(conversation, async () => {
      const entry = (await redis.hget(key, '7')) ?? '';
      await redis.hset(key, '7', entry.replace('message 7', 'message 8'));
    });
    expect(packed.entries).toBe(0);
    expect(await redis.hlen(key)).toBe(40);
    expect(await redis.exists(keyspace.key(conversation, 'pk'))).toBe(0);
    expect(await store.readLog(conversation, all)).toHaveLength(40);
  });

  test.each([
    [
      'the last entry of the log',
      async (conversation: ConversationRef) => {
        const seqs = Array.from({ length: 10 }, (_, at) => String(31 + at));
        await redis.hdel(keyspace.key(conversation, 'log'), ...seqs);
        await redis.hset(keyspace.key(conversation, 'c'), 'head', 30);
      },
    ],
    [
      'the user message of the present turn',
      async (conversation: ConversationRef) => {
        await redis.hset(keyspace.turn(conversation, 't1'), 'state', 'running', 'inputSeq', 7);
        await redis.rpush(keyspace.key(conversation, 'mb'), 't1');
      },
    ],
  ])('a pack is not written if one of its entries has become %s meanwhile', async (_, change) => {
    const conversation = await makeSummarized();
    const packed = await packDuring(conversation, () => change(conversation));
    expect(packed.entries).toBe(0);
    expect(await redis.exists(keyspace.key(conversation, 'pk'))).toBe(0);
  });

  test.each([
    ['a new message', (conversation: ConversationRef) => store.append(appendOf(conversation, 40, 1))],
    ['a new version', (conversation: ConversationRef) => redis.hset(keyspace.key(conversation, 'c'), 'version', 2)],
  ])('%s at the end of packing keeps the conversation due for packing', async (_, change) => {
    const conversation = await makeSummarized();
    await packDuring(conversation, async () => void (await change(conversation)), 'end-packing');
    const list = keyspace.unpacked(keyspace.shardOf(conversation));
    expect(Number(await redis.zscore(list, `_|${conversation.id}`))).toBeLessThanOrEqual(Date.now());
  });

  test('two processes that pack the same log at once pack each entry once', async () => {
    const conversation = await makeSummarized();
    const before = await store.readLog(conversation, all);
    const packed = await Promise.all([1, 2, 3].map(() => store.packLog(conversation)));
    expect(packed.reduce((sum, { entries }) => sum + entries, 0)).toBe(30);
    expect(await store.readLog(conversation, all)).toEqual(before);
  });

  test('reads that run while entries are packed get every entry', async () => {
    const conversation = await makeConversation(store, 900);
    const { lease } = await claimPass(store, conversation);
    await store.commitVersion(lease, commitOf(0, 890));
    const whole = [{ from: 1, to: 900 }];
    const before = await store.readLog(conversation, whole);
    const read: number[] = [];
    const ended = new AbortController();
    const packing = store.packLog(conversation).finally(() => ended.abort());
    while (!ended.signal.aborted) {
      expect(await store.readLog(conversation, whole)).toEqual(before);
      read.push(await redis.hlen(keyspace.key(conversation, 'pk')));
    }
    expect((await packing).entries).toBe(890);
    expect(new Set(read).size, 'reads between two packs').toBeGreaterThan(1);
  });

  test.each(['log', 'pk', 'c', 'ix', 't'])(
    'the packs of tenant %s have the same key for scripts and programs',
    async (tenant) => {
      for (const id of ['log', 'pk', 'c', 'ix', 'a.log-b']) {
        const conversation = { tenant, id };
        await store.erase(conversation);
        await store.append(appendOf(conversation, 0, 20));
        const { lease } = await claimPass(store, conversation);
        await store.commitVersion(lease, commitOf(0, 15));
        expect((await store.packLog(conversation)).entries).toBe(15);
        expect(await redis.hkeys(keyspace.key(conversation, 'pk'))).toEqual(['1-15']);
        expect(await store.readLog(conversation, [{ from: 1, to: 20 }])).toHaveLength(20);
        await store.erase(conversation);
        expect(await redis.exists(keyspace.key(conversation, 'pk'))).toBe(0);
      }
    },
  );

  test('a read gets log entries that a failover moves from a pack back to the log during the read', async () => {
    const conversation = await makeSummarized();
    const before = await store.readLog(conversation, all);
    const [log, packs] = [keyspace.key(conversation, 'log'), keyspace.key(conversation, 'pk')];
    const unpacked = await redis.hgetall(log);
    await packAll(conversation);
    const spied = vi.spyOn(redis, 'hkeys').mockImplementationOnce(async () => {
      await redis.multi().hset(log, unpacked).unlink(packs).hdel(keyspace.key(conversation, 'c'), 'packed').exec();
      return [];
    });
    expect(await store.readLog(conversation, all)).toEqual(before);
    spied.mockRestore();
  });

  test('a read of entries from several packs reads each pack once', async () => {
    const conversation = await makeConversation(store, 600);
    const { lease } = await claimPass(store, conversation);
    await store.commitVersion(lease, commitOf(0, 500));
    await store.packLog(conversation);
    const packs = (await redis.hkeys(keyspace.key(conversation, 'pk'))).length;
    expect(packs).toBeGreaterThan(1);
    const spied = vi.spyOn(redis, 'hgetBuffer');
    const seqs = Array.from({ length: 200 }, (_, at) => 1 + ((at * 171) % 500));
    const entries = await store.readLog(
      conversation,
      seqs.map((seq) => ({ from: seq, to: seq })),
    );
    expect(entries.map(({ seq }) => seq)).toEqual(seqs);
    expect(spied).toHaveBeenCalledTimes(packs);
    spied.mockRestore();
  });

  test('packing leaves the user message of the running turn in the log, because scripts read it', async () => {
    const conversation = newConversation();
    await store.accept({ ...turnOf(conversation), wake: 'w' });
    const claim = await store.claim(conversation, 'owner', 'wake');
    if (claim.status !== 'claimed') throw new Error(claim.status);
    const { lease } = claim.turn;
    for (let step = 1; step < 20; step += 1) {
      const messages = [weigh({ role: 'assistant', content: `part ${step}` })];
      await store.recordStep(lease, { key: `model-${step}`, messages, expectedHead: step, opens: [], closes: [] });
    }
    const { lease: pass } = await claimPass(store, conversation);
    await store.commitVersion(pass, commitOf(0, 15));
    expect((await store.packLog(conversation)).entries).toBe(14);
    expect(await redis.hexists(keyspace.key(conversation, 'log'), '1')).toBe(1);
  });

  test.each([
    ['is no gzip', async (key: string, name: string) => redis.hset(key, name, 'x')],
    ['holds too few entries', async (key: string, name: string) => redis.hset(key, name, await pack(['x']))],
    ['has a name with far too many seqs', async (key: string) => redis.hset(key, '1-4000000000', 'x')],
    ['has a name that lists no seqs', async (key: string) => redis.hset(key, 'x', 'x')],
  ])('a pack that %s is reported with its key and field, and nothing is written', async (_, damage) => {
    const conversation = await makeSummarized();
    const [name = ''] = await packAll(conversation);
    const key = keyspace.key(conversation, 'pk');
    await damage(key, name);
    const before = await redis.hgetall(key);
    for (const call of [store.readLog(conversation, all), store.readContext(conversation, { version: 0 })]) {
      await expect(call).rejects.toMatchObject({ code: 'corrupt_record', details: { key } });
    }
    expect(await redis.hgetall(key)).toEqual(before);
  });

  test('a pack that is missing is reported as a missing log entry', async () => {
    const conversation = await makeSummarized();
    await packAll(conversation);
    await redis.unlink(keyspace.key(conversation, 'pk'));
    await expect(store.readContext(conversation, { version: 0 })).rejects.toMatchObject({
      code: 'corrupt_record',
      details: { key: keyspace.key(conversation, 'log'), field: '1' },
    });
  });

  test('a malformed log entry is reported and stays in the log, where a person can repair it', async () => {
    const conversation = await makeSummarized();
    const key = keyspace.key(conversation, 'log');
    await redis.hset(key, '7', 'x');
    await expect(store.packLog(conversation)).rejects.toMatchObject({
      code: 'corrupt_record',
      details: { key, field: '7' },
    });
    expect(await redis.hlen(key)).toBe(40);
  });

  test('a damaged list of unpacked conversations stops neither turns nor the packing of other shards', async () => {
    const conversation = newConversation();
    const list = keyspace.unpacked(keyspace.shardOf(conversation));
    await redis.unlink(list);
    await redis.set(list, 'x');
    try {
      expect(await store.append(appendOf(conversation, 0, 20))).toMatchObject({ status: 'appended' });
      expect(await takeAll()).not.toContainEqual(conversation);
    } finally {
      await redis.unlink(list);
    }
    await redis.zadd(list, 1, 'no conversation', 1, `_|${conversation.id}`);
    expect(await takeAll()).toContainEqual(conversation);
    expect(await redis.zscore(list, 'no conversation')).toBeNull();
  });

  test('packing an idle conversation frees the memory that Redis reserved for its event stream', async () => {
    const conversation = await makeSummarized();
    const events = keyspace.key(conversation, 'ev');
    const before = {
      entries: await redis.xrange(events, '-', '+'),
      bytes: Number(await redis.memory('USAGE', events)),
    };
    await restConversation(redis, keyspace, conversation);
    await store.packLog(conversation);
    expect(await redis.xrange(events, '-', '+')).toEqual(before.entries);
    expect(Number(await redis.memory('USAGE', events))).toBeLessThan(before.bytes / 2);
    expect(await redis.pttl(events)).toBeGreaterThan(80_000_000);
  });
});

/** Packs a log while `change` runs directly before a script: by default the one that writes a pack. */
async function packDuring(
  conversation: ConversationRef,
  change: () => Promise<void>,
  file = 'pack-log',
): Promise<PackedLog> {
  const { sha } = new Script({ file, decode: () => undefined }, keyspace);
  const call = redis.call.bind(redis) as (command: string, args: Argument[]) => Promise<unknown>;
  const spied = vi.spyOn(redis, 'call') as unknown as MockInstance<typeof call>;
  spied.mockImplementation(async (command, args) => {
    if (command === 'evalsha' && args[0] === sha) await change();
    return await call(command, args);
  });
  try {
    return await store.packLog(conversation);
  } finally {
    spied.mockRestore();
  }
}

function turnOf(conversation: ConversationRef) {
  const input = weigh({ role: 'user', content: 'question' });
  return { conversation, turn: 't1', agent: 'agent', input, payloadHash: 'hash', maxQueuedTurns: 100 };
}

async function takeAll(): Promise<ConversationRef[]> {
  const taken: ConversationRef[] = [];
  for (let round = 0; round < 32; round += 1) taken.push(...(await store.takeUnpacked()));
  return taken;
}

const seqLists = fc.uniqueArray(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 200 });

test('the name of a pack lists exactly the seqs of its entries', () => {
  fc.assert(
    fc.property(seqLists, (numbers) => {
      const seqs = numbers.toSorted((a, b) => a - b);
      const ranges = readPackName('key', namePack(seqs));
      expect(ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at))).toEqual(
        seqs,
      );
    }),
  );
});

test('a pack returns the same texts, whatever characters they have', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'binary' })), async (texts) => {
      expect(await unpack({ key: 'key', field: '1' }, await pack(texts))).toEqual(texts);
    }),
  );
});

/** Bytes of a log in Redis. The texts of a smaller log repeat less, and its pack takes a larger share. */
const LARGE_BYTES = 8_192;

describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  const memory = async (key: string): Promise<number> => (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;

  /** Packs a log, whose last entry stays, and checks that no entry changes. */
  async function packRecorded(messages: readonly Message[]) {
    const conversation = newConversation();
    const [log, packs] = [keyspace.key(conversation, 'log'), keyspace.key(conversation, 'pk')];
    const weighed = messages.filter(({ role }) => role !== 'system').map(weigh);
    const whole = [{ from: 1, to: weighed.length }];
    await store.append({ ...appendOf(conversation, 0, 0), messages: weighed });
    const before = await memory(log);
    const entries = (await store.readLog(conversation, whole)).slice(0, -1);
    await restConversation(redis, keyspace, conversation);
    const count = (await store.packLog(conversation)).entries;
    expect(entries.length - count, 'entries that wait for more').toBeLessThan(8);
    const [kept, packed] = [await memory(log), await memory(packs)];
    expect((await store.readLog(conversation, whole)).slice(0, -1)).toEqual(entries);
    await store.erase(conversation);
    return { isPacked: count > 0, isLarge: before >= LARGE_BYTES, replaced: before - kept, packed };
  }

  test.each(readConversationFiles())(
    'the packs of $name take at most half of the memory of their entries in Redis, and at most 0.35 in large logs',
    async ({ conversations }) => {
      let [replaced, packed] = [0, 0];
      for (const { messages } of conversations.slice(0, 5)) {
        const one = await packRecorded(messages);
        if (!one.isPacked) continue;
        expect(one.packed).toBeLessThanOrEqual(one.replaced / 2);
        if (!one.isLarge) continue;
        replaced += one.replaced;
        packed += one.packed;
      }
      expect(packed).toBeLessThanOrEqual(0.35 * replaced);
    },
  );
});
