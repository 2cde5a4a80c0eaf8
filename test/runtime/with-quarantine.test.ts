import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NO_BACKOFF } from '../../src/domain/conversation.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { type ConversationRef, nameConversation } from '../../src/domain/ids.ts';
import type { DueEntry } from '../../src/store/due-work.ts';
import type { Store } from '../../src/store/open-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import { corruptRecord } from '../../src/store/records.ts';
import { type QuarantinePorts, withQuarantine, withReadableSummaries } from '../../src/workers/quarantine.ts';
import { BrokenDelivery } from '../../src/workers/turn/turn-delivery.ts';
import { openSuiteRedis, type SuiteRedis } from '../store/open-redis.ts';
import { claimPass, claimSummary, makeConversation, waitForPass } from '../store/pass-samples.ts';
import { acceptAndClaim, newConversation } from '../store/samples.ts';

let suite: SuiteRedis;
let store: Store;
beforeAll(() => {
  suite = openSuiteRedis();
  store = openStore(suite.redis, suite.keyspace);
});
afterAll(() => suite.close());

interface World {
  readonly ports: QuarantinePorts;
  readonly events: WorkerEvent[];
  readonly wakes: string[];
}

function openWorld(sweep: QuarantinePorts['sweep'] = store): World {
  const events: WorkerEvent[] = [];
  const wakes: string[] = [];
  const wakeQueue: QuarantinePorts['wakes'] = { wake: async (_kind, _conversation, wake) => void wakes.push(wake) };
  const onEvent = (event: WorkerEvent): void => void events.push(event);
  return { ports: { sweep, wakes: wakeQueue, ids: { next: randomUUID }, onEvent }, events, wakes };
}

const asTurn = (conversation: ConversationRef): DueEntry => ({ kind: 'turn', conversation });

async function isDue(conversation: ConversationRef): Promise<boolean> {
  const ready = suite.keyspace.ready(suite.keyspace.shardOf(conversation));
  return (await suite.redis.zscore(ready, `t|_|${conversation.id}`)) !== null;
}

function keptOf(conversation: ConversationRef): Promise<Record<string, string>> {
  return suite.redis.hgetall(suite.keyspace.quarantined(suite.keyspace.shardOf(conversation)));
}

describe('withQuarantine', () => {
  test('withQuarantine returns the result of its handler', async () => {
    const postponed = { status: 'postponed', delayMs: 1_000 } as const;
    const handle = withQuarantine(openWorld().ports, asTurn, async () => postponed);
    expect(await handle(newConversation())).toEqual(postponed);
  });

  test.each([
    ['as it is', (error: Error): Error => error],
    [
      'inside a broken delivery',
      (error: Error): Error => new BrokenDelivery({ tenant: '_', conversation: 'c1' }, error),
    ],
  ])(
    'withQuarantine sets a corrupt record aside and rethrows its error when the error is thrown %s',
    async (_, wrap) => {
      const conversation = newConversation();
      await acceptAndClaim(store, conversation, 't1');
      const key = suite.keyspace.key(conversation, 'c');
      const thrown = wrap(corruptRecord(key, 'head', 'the value must consist of integers'));
      const { ports, events } = openWorld();
      await expect(withQuarantine(ports, asTurn, () => Promise.reject(thrown))(conversation)).rejects.toBe(thrown);
      const shard = suite.keyspace.shardOf(conversation);
      const [name, why] = [`t|_|${conversation.id}`, `corrupt ${key} head`];
      expect(events).toEqual([
        { type: 'record_quarantined', shard, set: 'ready', name, why, ...nameConversation(conversation) },
      ]);
      expect(await isDue(conversation)).toBe(false);
      expect(await keptOf(conversation)).toHaveProperty([`ready|${name}`], expect.stringMatching(/^\d+ \d+ corrupt /));
    },
  );

  test('withQuarantine leaves a record where it is if its handler fails for another reason than a corrupt record', async () => {
    const conversation = newConversation();
    await acceptAndClaim(store, conversation, 't1');
    const { ports, events } = openWorld();
    const thrown = new BrokenDelivery(nameConversation(conversation), new TypeError('x is not a function'));
    await expect(withQuarantine(ports, asTurn, () => Promise.reject(thrown))(conversation)).rejects.toBe(thrown);
    expect([events, await isDue(conversation)]).toEqual([[], true]);
  });

  test('withQuarantine does not report a corrupt record that another worker has already quarantined', async () => {
    const conversation = newConversation();
    const { ports, events } = openWorld();
    const thrown = corruptRecord('k', '', 'the key must be a hash');
    await expect(withQuarantine(ports, asTurn, () => Promise.reject(thrown))(conversation)).rejects.toBe(thrown);
    expect(events).toEqual([]);
  });

  test('withQuarantine throws the error of its handler if the record cannot be quarantined', async () => {
    const down = (): Promise<never> => Promise.reject(new Error('connection lost'));
    const { ports, events } = openWorld({ quarantine: down, quarantineRecord: down });
    const thrown = corruptRecord('k', '', 'the key must be a hash');
    const handle = withQuarantine(ports, asTurn, () => Promise.reject(thrown));
    await expect(handle(newConversation())).rejects.toBe(thrown);
    expect(events).toEqual([]);
  });

  test('withQuarantine quarantines a corrupt compaction pass, ends the pass, and wakes the waiting turn', async () => {
    const { redis, keyspace } = suite;
    const conversation = await makeConversation(store);
    await waitForPass(store, conversation, 't1');
    const { lease } = await claimPass(store, conversation);
    const key = keyspace.key(conversation, 'pass');
    await redis.hset(key, 'plan', '{', 'attempts', 'x');
    const { ports, events, wakes } = openWorld();
    const thrown = corruptRecord(key, 'plan', 'the value is not valid JSON');
    await expect(withQuarantine(ports, asTurn, () => Promise.reject(thrown))(conversation)).rejects.toBe(thrown);
    const [event] = events;
    expect(event).toMatchObject({
      type: 'record_quarantined',
      set: 'key',
      name: key,
      ...nameConversation(conversation),
    });
    const kept = await redis.keys(`${key}:bad:*`);
    expect(kept).toHaveLength(1);
    expect(await redis.hget(kept[0] ?? '', 'plan'), 'kept for people').toBe('{');
    expect(await redis.hget(keyspace.key(conversation, 'c'), 'wake')).toBe(wakes[0]);
    expect([wakes.length, await isDue(conversation)]).toEqual([1, true]);
    expect(await store.readConversation(conversation)).not.toHaveProperty('passId');
    expect(await store.endPass(lease, { outcome: { kind: 'none' }, backoff: NO_BACKOFF, wakeTurn: 'w' })).toMatchObject(
      {
        status: 'ended',
      },
    );
    await store.erase(conversation);
    expect(await redis.exists(...kept), 'an erase removes what was kept').toBe(0);
  });
});

describe('withReadableSummaries', () => {
  const hash = 'a'.repeat(16);

  test('withReadableSummaries treats a corrupt summary as missing, so that a job can claim it again', async () => {
    const { redis, keyspace } = suite;
    const conversation = await makeConversation(store);
    const { lease } = await claimPass(store, conversation);
    const known = await claimSummary(store, conversation, hash, lease.passId);
    await store.recordSummary(known, { status: 'refused', why: 'no' });
    const key = keyspace.summary(conversation, hash);
    await redis.set(key, '{"status":"accepted"}', 'KEEPTTL');
    const { ports, events } = openWorld();
    const readable = withReadableSummaries(store, ports);
    expect(await readable.readSummaries(conversation, [hash])).toEqual([undefined]);
    expect(events).toMatchObject([
      { type: 'record_quarantined', set: 'key', name: key, ...nameConversation(conversation) },
    ]);
    expect(await readable.claimSummary(conversation, hash, 'another')).toEqual({ status: 'claimed' });
  });

  test('withReadableSummaries rethrows errors that are not about a corrupt summary', async () => {
    const conversation = await makeConversation(store);
    const thrown = corruptRecord(suite.keyspace.key(conversation, 'c'), 'head', 'the value must consist of integers');
    const { ports, events } = openWorld();
    const readable = withReadableSummaries({ ...store, readSummaries: () => Promise.reject(thrown) }, ports);
    await expect(readable.readSummaries(conversation, [hash])).rejects.toBe(thrown);
    expect(events).toEqual([]);
  });
});
