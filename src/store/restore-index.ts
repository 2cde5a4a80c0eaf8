import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { askAllMasters } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/** Keys that Redis examines for one command of the search. Each command takes less than a millisecond. */
const SCAN_COUNT = 1_000;
/** Time limit of the search on one master of a Cluster, in ms. A master examines about a million keys per second. */
const SEARCH_MS = 600_000;

/**
 * Makes the function that writes the index of a conversation again, from the names of all keys in Redis. An index of the
 * wrong type, or a missing one, hides the conversation's turns from an erase.
 * @throws redis_denied if the user of Redis may not run SCAN. redis_unavailable if a master does not answer.
 */
export function bindRestoreIndex(redis: Redis, keyspace: Keyspace): (conversation: ConversationRef) => Promise<void> {
  const restore = scriptBinder(redis, keyspace)(restoreIndexScript);
  return async (conversation) => {
    const found = await askAllMasters(redis, (master) => findNames(master, keyspace, conversation), SEARCH_MS);
    await restore(conversation, [...new Set(found.flat())]);
  };
}

/** Finds the keys of one conversation. Keys that exist during the whole search are found. */
async function findNames(master: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<string[]> {
  const names: string[] = [];
  let cursor = '0';
  do {
    const pattern = keyspace.listed(conversation);
    const [next, keys] = await callStore(() => master.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT));
    names.push(...keys.flatMap((key) => keyspace.listedName(conversation, key) ?? []));
    cursor = next;
  } while (cursor !== '0');
  return names;
}

const restoreIndexScript: ScriptDefinition<[conversation: ConversationRef, names: readonly string[]], number> = {
  file: 'restore-index',
  args: ([, names]) => names,
  decode: (reply) => reply as number,
};
