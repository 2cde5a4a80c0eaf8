import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { PACK_AFTER_MS } from '../../src/domain/log-packing.ts';
import type { Keyspace } from '../../src/store/keys.ts';
import { decodeLogEntry, encodeLogEntry } from '../../src/store/log.ts';

/** Lets an hour pass since a conversation was created and its last log entry was written. */
export async function restConversation(redis: Redis, keyspace: Keyspace, ref: ConversationRef): Promise<void> {
  const [c, log] = [keyspace.key(ref, 'c'), keyspace.key(ref, 'log')];
  if ((await redis.hexists(c, 'created')) === 1) await redis.hset(c, 'created', 1);
  const head = (await redis.hget(c, 'head')) ?? '0';
  const entry = await redis.hget(log, head);
  if (entry === null) return;
  const last = decodeLogEntry(Number(head), entry, log);
  await redis.hset(log, head, encodeLogEntry({ ...last, at: last.at - PACK_AFTER_MS }));
}
