import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { CLOSING_RESULT } from '../../src/domain/message.ts';
import { TURN_LIMITS } from '../../src/domain/turn.ts';
import { createIdSource } from '../../src/jobs/id-source.ts';
import { SCHEMAS } from '../../src/store/keys.ts';
import { Script } from '../../src/store/script.ts';
import { bytesOfMessage, countMessage } from '../../src/wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { openSuiteStore, readKeys } from './open-redis.ts';
import { acceptAndClaim, callsStep, claimHead, newConversation, textStep, toWaitFor, turnFor } from './samples.ts';

const DAY_MS = 86_400_000;
const { redis, keyspace, store } = openSuiteStore();

async function runTurn(conversation: ConversationRef, turn: string): Promise<void> {
  const { lease, conversation: state } = await acceptAndClaim(store, conversation, turn, 'f'.repeat(32));
  await store.recordStep(lease, textStep('model.1', state.head));
  await store.settle(lease, { state: 'completed', answerSeq: state.head + 1 }, 'w');
}

describe('Redis keys of turns', () => {
  test('the key of a turn expires a week after the turn was settled, and never before', async () => {
    const conversation = newConversation();
    await store.accept(turnFor(conversation, 'turn.1'));
    const key = keyspace.turn(conversation, 'turn.1');
    expect(await redis.pttl(key), 'no expiry').toBe(-1);
    const { lease } = await claimHead(store, conversation);
    expect(await redis.pttl(key)).toBe(-1);
    await store.settle(lease, { state: 'completed', answerSeq: 1 }, 'w');
    const ttl = await redis.pttl(key);
    expect(ttl).toBeGreaterThan(TURN_LIMITS.turnRetentionMs - 60_000);
    expect(ttl).toBeLessThanOrEqual(TURN_LIMITS.turnRetentionMs);
  });

  test('the cancel of a queued turn is recorded as the last settlement of its conversation', async () => {
    const conversation = newConversation();
    await acceptAndClaim(store, conversation, 'turn.1');
    await store.accept(turnFor(conversation, 'turn.2'));
    await store.cancel(conversation, 'turn.2', 'w');
    expect(await redis.hget(keyspace.key(conversation, 'c'), 'last')).toMatch(/^canceled \d+$/);
  });

  test('a turn after an erase is refused, and nothing is written, while a set of the shard has the wrong type', async () => {
    const conversation = newConversation();
    const idle = keyspace.idle(keyspace.shardOf(conversation));
    await runTurn(conversation, 'turn.1');
    await store.erase(conversation);
    onTestFinished(async () => void (await redis.unlink(idle)));
    await redis.unlink(idle);
    await redis.set(idle, 'x');
    const before = await redis.get(keyspace.key(conversation, 'gone'));
    const refusal = { code: 'corrupt_record', details: { key: idle } };
    await expect(store.accept(turnFor(conversation, 'turn.2'))).rejects.toMatchObject(refusal);
    expect(await redis.get(keyspace.key(conversation, 'gone'))).toBe(before);
    expect(await redis.exists(keyspace.key(conversation, 'c'), keyspace.turn(conversation, 'turn.2'))).toBe(0);
  });

  test('a turn that has waited is neither claimed nor settled while the set of waiting turns has the wrong type', async () => {
    const conversation = newConversation();
    const shard = keyspace.shardOf(conversation);
    const [waiting, log] = [keyspace.waiting(shard), keyspace.key(conversation, 'log')];
    const readDue = async () => await redis.zrange(keyspace.ready(shard), '0', '-1', 'WITHSCORES');
    const refusal = { code: 'corrupt_record', details: { key: waiting } };
    const { lease } = await acceptAndClaim(store, conversation, 'turn.1');
    await store.recordStep(lease, callsStep('model-1', 1, 1));
    await store.suspend(lease, { for: 'tools', step: 'model-1', waitMs: 0, calls: toWaitFor(['c2_0']) });
    onTestFinished(async () => void (await redis.unlink(waiting)));
    await redis.unlink(waiting);
    await redis.set(waiting, 'x');
    const due = await readDue();
    await expect(store.claim(conversation, 'owner', 'wake')).rejects.toMatchObject(refusal);
    expect(await readDue()).toEqual(due);
    await redis.unlink(waiting);
    const claimed = await claimHead(store, conversation);
    await redis.set(waiting, 'x');
    const failure = { code: 'model_failed', message: 'x' } as const;
    await expect(store.settle(claimed.lease, { state: 'failed', failure }, 'w')).rejects.toMatchObject(refusal);
    expect(await redis.hlen(log)).toBe(2);
  });

  test('all keys of a conversation lie in one hash slot, and the conversation’s list of keys names its turns', async () => {
    const conversation = newConversation();
    await runTurn(conversation, 'turn.1');
    const keys = await readKeys(redis, keyspace, conversation);
    const base = `{tf${keyspace.shardOf(conversation)}}:_:`;
    const names = ['c', 'ev', 'ix', 'log'].map((kind) => `${base}${kind}:${conversation.id}`);
    expect(keys).toEqual([...names, keyspace.turn(conversation, 'turn.1')]);
    expect(await redis.hkeys(keyspace.key(conversation, 'ix'))).toEqual(['t:turn.1']);
    expect(await redis.hget(keyspace.key(conversation, 'c'), 'schema')).toBe(String(SCHEMAS.current));
  });

  test('the input of a turn has its own field until the input is in the log or the turn is settled', async () => {
    const conversation = newConversation();
    for (const turn of ['turn.1', 'turn.2']) await store.accept(turnFor(conversation, turn));
    const texts = keyspace.key(conversation, 'txt');
    expect((await redis.hkeys(texts)).toSorted()).toEqual(['i:turn.1', 'i:turn.2']);
    await claimHead(store, conversation);
    expect(await redis.hkeys(texts)).toEqual(['i:turn.2']);
    await store.cancel(conversation, 'turn.2', 'w');
    expect(await redis.exists(texts)).toBe(0);
  });

  test('a failed turn has one entry in its shard’s list of failed turns until the turn expires or its conversation is erased', async () => {
    const conversation = newConversation();
    const failed = keyspace.failed(keyspace.shardOf(conversation));
    const member = (turn: string): string => `_|${conversation.id}|${turn}`;
    await redis.zadd(failed, Date.now() - TURN_LIMITS.turnRetentionMs - 60_000, 'expired');
    await redis.zadd(failed, Date.now() - TURN_LIMITS.turnRetentionMs + 60_000, 'kept');
    for (const turn of ['turn.1', 'turn.2']) {
      const { lease } = await acceptAndClaim(store, conversation, turn);
      await store.settle(lease, { state: 'failed', failure: { code: 'model_failed', message: '' } }, 'w');
    }
    const members = async (): Promise<string[]> => redis.zrange(failed, 0, '-1');
    expect(await members()).toEqual(expect.arrayContaining(['kept', member('turn.1'), member('turn.2')]));
    expect(await members()).not.toContain('expired');
    await store.erase(conversation);
    expect((await members()).filter((name) => name.includes(conversation.id))).toEqual([]);
    await redis.zrem(failed, 'kept');
  });

  test('the list of a conversation’s keys drops turns whose keys have expired', async () => {
    const conversation = newConversation();
    const accept = (turn: string) => store.accept(turnFor(conversation, turn, { maxQueuedTurns: 10_000 }));
    const indexed = (): Promise<string[]> => redis.hkeys(keyspace.key(conversation, 'ix'));
    await accept('kept');
    for (let turn = 0; turn < 40; turn += 1) await accept(`old.${turn}`);
    await redis.unlink(...Array.from({ length: 40 }, (_, turn) => keyspace.turn(conversation, `old.${turn}`)));
    let accepted = 0;
    const countOld = async (): Promise<number> => {
      await accept(`new.${(accepted += 1)}`);
      return (await indexed()).filter((name) => name.startsWith('t:old.')).length;
    };
    await expect.poll(countOld, { interval: 1, timeout: 60_000 }).toBe(0);
    expect(await indexed()).toContain('t:kept');
    expect(await indexed(), 'nothing that is there is forgotten').toHaveLength(1 + accepted);
  });

  test('the event of a settled turn is published to subscribers, and Redis keeps it for a day', async () => {
    const conversation = newConversation();
    const channel = keyspace.key(conversation, 'ev');
    const listener = redis.duplicate();
    const heard = new Promise<string>((resolve) => {
      listener.on('message', (_, text) => resolve(text));
    });
    await listener.subscribe(channel);
    await runTurn(conversation, 'turn.1');
    expect(await heard).toBe('turn_settled turn.1');
    await listener.quit();
    const [entry] = await redis.xrange(channel, '-', '+');
    expect(entry?.[1]).toEqual(['type', 'turn_settled', 'turn', 'turn.1', 'state', 'completed']);
    const ttl = await redis.pttl(channel);
    expect(ttl).toBeGreaterThan(DAY_MS - 60_000);
    expect(ttl).toBeLessThanOrEqual(DAY_MS);
  });

  test('a turn accepted after an interrupted erase removes the keys that the erase left', async () => {
    const conversation = newConversation();
    for (const turn of ['turn.1', 'turn.2']) await store.accept(turnFor(conversation, turn));
    await redis.set(keyspace.key(conversation, 'gone'), '1', 'PX', DAY_MS);
    // The interrupted erase has removed the first turn, but the mailbox still lists that turn.
    await redis.unlink(keyspace.turn(conversation, 'turn.1'));
    await store.accept(turnFor(conversation, 'turn.3'));
    expect(await redis.lrange(keyspace.key(conversation, 'mb'), 0, -1)).toEqual(['turn.3']);
    expect(await redis.exists(keyspace.turn(conversation, 'turn.2'), keyspace.key(conversation, 'gone'))).toBe(0);
    expect((await claimHead(store, conversation)).lease.turn).toBe('turn.3');
  });

  test('the store sends the text of a script again if the server does not know the script', async () => {
    const lua = `return '${randomUUID()}'`;
    const definition = { file: 'unread', keys: () => ({}), decode: (reply: unknown) => reply };
    const unknown = new Script<[], unknown>(definition, keyspace, { text: lua, keys: [], args: [] });
    expect(await redis.script('EXISTS', unknown.sha)).toEqual([0]);
    expect(`return '${String(await unknown.run(redis, []))}'`).toBe(lua);
    expect(await redis.script('EXISTS', unknown.sha)).toEqual([1]);
    expect(`return '${String(await unknown.run(redis, []))}'`).toBe(lua);
  });

  test('a call is refused if the definition of its script does not give the arguments that the Lua file names', async () => {
    const definition = { file: 'greet', keys: () => ({}), args: () => ({ one: 1 }), decode: (reply: unknown) => reply };
    const script = new Script<[], unknown>(definition, keyspace, { text: 'return 1', keys: [], args: ['two'] });
    await expect(script.run(redis, [])).rejects.toThrow('greet.lua lists @args two, but its definition has one');
  });

  test('the token and byte size in the constant CLOSING_RESULT equals the counted size of its text', async () => {
    const message = { content: CLOSING_RESULT.content };
    const counted = await Promise.all(
      (['o200k_base', 'cl100k_base'] as const).map(async (encoding) =>
        countMessage(await loadTokenCounter(encoding), message),
      ),
    );
    expect(Math.max(...counted)).toBe(CLOSING_RESULT.tokens);
    expect(bytesOfMessage(message)).toBe(CLOSING_RESULT.bytes);
  });

  test('an idle conversation of 10 turns takes at most 8 KB of Redis memory besides its content, and 13 KB while its events are kept', async () => {
    const ids = createIdSource();
    const conversation = { tenant: '_', id: ids.next() };
    for (let turn = 0; turn < 10; turn += 1) await runTurn(conversation, ids.next());
    const costs: Record<string, number> = {};
    for (const key of await readKeys(redis, keyspace, conversation)) {
      const kind = key.split(':')[2] ?? '';
      costs[kind] = (costs[kind] ?? 0) + Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
    }
    const log = await redis.hvals(keyspace.key(conversation, 'log'));
    const content = log.reduce((sum, entry) => sum + Buffer.byteLength(entry.slice(entry.indexOf('\n') + 1)), 0);
    const total = Object.values(costs).reduce((sum, bytes) => sum + bytes, 0) - content;
    const idle = total - (costs['ev'] ?? 0);
    expect(total, JSON.stringify({ ...costs, content })).toBeLessThanOrEqual(13 * 1024);
    expect(idle, JSON.stringify({ ...costs, content })).toBeLessThanOrEqual(8 * 1024);
  });
});
