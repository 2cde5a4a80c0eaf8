import type { Redis } from 'ioredis';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import { askAllMasters, SEARCH_MS, scanKeys } from './redis/servers.ts';
import { decodeReply, type ScriptDefinition, scriptBinder } from './script.ts';

/** ms for which a write to an erased conversation gets the answer `gone`. */
const GONE_MS = 86_400_000;
/** Most keys that one script call removes, because the call blocks Redis. */
export const ERASE_BATCH = 200;

const LEFT = ['nothing', 'keys', 'unlisted', 'not_begun'] as const;

interface EraseProgress {
  readonly removedKeys: number;
  /**
   * Why keys are left. `unlisted`: the index does not name the keys that are left. `not_begun`: the same, and this call
   * removed no key.
   */
  readonly left: (typeof LEFT)[number];
}

type EraseStep = [conversation: ConversationRef, isFirst: boolean, isRestored: boolean];

/**
 * Deletes every key of a conversation, in batches. Later writes of its workers get the answer `gone`. The erase stops
 * if replicas do not confirm a batch, and the next sweep, erase or accept finishes it. An index that does not name all
 * keys is restored first, so that no keys stay behind.
 * @param restoreIndex searches Redis for the keys of the conversation
 */
export function bindErase(
  run: (...step: EraseStep) => Promise<Acknowledged<EraseProgress>>,
  restoreIndex: (conversation: ConversationRef) => Promise<void>,
): (conversation: ConversationRef) => Promise<Acknowledged<{ readonly removedKeys: number }>> {
  return async (conversation) => {
    let progress = await run(conversation, true, false);
    let { removedKeys } = progress;
    while (progress.left !== 'nothing' && progress.shortfall === undefined) {
      const isRestored = progress.left !== 'keys';
      if (isRestored) await restoreIndex(conversation);
      progress = await run(conversation, progress.left === 'not_begun', isRestored);
      removedKeys = Math.max(removedKeys, progress.removedKeys);
    }
    const { shortfall } = progress;
    return { removedKeys, ...(shortfall !== undefined && { shortfall }) };
  };
}

export const eraseScript: ScriptDefinition<EraseStep, EraseProgress> = {
  file: 'erase',
  args: ([, isFirst, isRestored]) => ({ isFirst, batch: ERASE_BATCH, goneMs: GONE_MS, isRestored }),
  decode: (reply) => {
    const [removedKeys, left] = reply as [number, number];
    return { removedKeys, left: LEFT[left] ?? 'nothing' };
  },
};

/** Most batches of one call, at about a millisecond each. More would delay other conversations. */
const MOST_BATCHES = 10;

export type ExpireResult =
  | { readonly status: 'kept' }
  | { readonly status: 'more' }
  /** Everything is erased. Exactly one call gets this answer, with the keys that all calls removed. */
  | { readonly status: 'expired'; readonly removedKeys: number }
  | { readonly status: 'resumed' };

/**
 * Erases an idle conversation in batches. Each call has an `owner` id of its own. If the conversation is created again,
 * the next batch removes nothing.
 */
export function bindExpire(
  run: (...step: ExpireStep) => Promise<ExpireProgress>,
  restoreIndex: (conversation: ConversationRef) => Promise<void>,
): (conversation: ConversationRef, owner: string) => Promise<ExpireResult> {
  return async (conversation, owner) => {
    let result = await run(conversation, owner, false);
    for (let batches = 1; result.status === 'more' || result.status === 'unlisted'; batches += 1) {
      if (batches >= MOST_BATCHES) return { status: 'more' };
      const isRestored = result.status === 'unlisted';
      if (isRestored) await restoreIndex(conversation);
      result = await run(conversation, owner, isRestored);
    }
    return result;
  };
}

type ExpireStep = [conversation: ConversationRef, owner: string, isRestored: boolean];
type ExpireProgress = ExpireResult | { readonly status: 'unlisted' };

export const expireScript: ScriptDefinition<ExpireStep, ExpireProgress> = {
  file: 'expire',
  args: ([, owner, isRestored]) => ({ owner, batch: ERASE_BATCH, goneMs: GONE_MS, isRestored }),
  decode: (reply) => decodeReply<ExpireProgress>(reply, { expired: (removedKeys: number) => ({ removedKeys }) }),
};

/**
 * Writes the index of a conversation again, from the names of all keys in Redis. If the index is missing or of the
 * wrong type, an erase does not find the conversation's turns.
 * @throws redis_denied if the user of Redis may not run SCAN. redis_unavailable if a master does not answer.
 */
export function bindRestoreIndex(redis: Redis, keyspace: Keyspace): (conversation: ConversationRef) => Promise<void> {
  const restore = scriptBinder(redis, keyspace)(restoreIndexScript);
  return async (conversation) => {
    const found = await askAllMasters(redis, (master) => findNames(master, keyspace, conversation), SEARCH_MS);
    await restore(conversation, [...new Set(found.flat())]);
  };
}

async function findNames(master: Redis, keyspace: Keyspace, conversation: ConversationRef): Promise<string[]> {
  const names: string[] = [];
  for await (const key of scanKeys(master, keyspace.listed(conversation))) {
    const name = keyspace.listedName(conversation, key);
    if (name !== undefined) names.push(name);
  }
  return names;
}

const restoreIndexScript: ScriptDefinition<[conversation: ConversationRef, names: readonly string[]], number> = {
  file: 'restore-index',
  args: ([, names]) => ({ rest: names }),
  decode: (reply) => reply as number,
};
