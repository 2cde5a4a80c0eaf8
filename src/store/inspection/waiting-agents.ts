import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { decodeDueEntry, isDueEntry } from '../sweep/due-entry.ts';

/** Of one shard, those that are due first: who asks wants to know of whom there are any. */
const MOST_ENTRIES = 100;

/** Agents of conversations that a worker has to look at, now or later, and one of those conversations each. */
export async function listWaitingAgents(redis: Redis, keyspace: Keyspace): Promise<Map<string, ConversationRef>> {
  const readShard = async (shard: number): Promise<[string | null, ConversationRef][]> => {
    const entries = await callStore(() => redis.zrange(keyspace.ready(shard), '0', String(MOST_ENTRIES - 1)));
    const conversations = entries.filter(isDueEntry).map((entry) => decodeDueEntry(entry).conversation);
    return await Promise.all(
      conversations.map(async (conversation) => {
        return [await readAgent(redis, keyspace.key(conversation, 'c')), conversation];
      }),
    );
  };
  const found = await Promise.all(keyspace.shardNumbers().map(readShard));
  return new Map(found.flat().filter((pair): pair is [string, ConversationRef] => pair[0] !== null));
}

/** null where there is none, or where the record cannot be read: the sweeper sets that one aside. */
async function readAgent(redis: Redis, key: string): Promise<string | null> {
  try {
    return await callStore(() => redis.hget(key, 'agent'));
  } catch (error) {
    if (isTurnfoldError(error, 'corrupt_record')) return null;
    throw error;
  }
}
