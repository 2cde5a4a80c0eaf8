import type { Redis } from 'ioredis';
import type { ListingStore } from '../../domain/ports/listing-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { encodeListedName, listConversationsScript, readName } from './list-conversations.ts';
import { listWaitingScript, nameOfWaiting, readWaitingName } from './list-waiting.ts';
import { walkShards } from './shard-pages.ts';

/** Lists over all shards in Redis. One script a shard. */
export function openListingStore(redis: Redis, keyspace: Keyspace): ListingStore {
  const conversations = bindScript(redis, listConversationsScript(keyspace));
  const waiting = bindScript(redis, listWaitingScript(keyspace));
  const shards = keyspace.shardNumbers();
  return {
    listConversations: async ({ after, ...query }) => {
      const { items, next } = await walkShards({
        shards,
        from: after && { shard: keyspace.shardOf(after), name: encodeListedName(after) },
        limit: query.limit,
        read: (shard, name) => conversations({ ...query, shard, after: name }),
      });
      return { items, ...(next !== undefined && { next: readName(next) }) };
    },
    listWaiting: async ({ after, ...query }) => {
      const { items, next } = await walkShards({
        shards,
        from: after && { shard: keyspace.shardOf(after.conversation), name: nameOfWaiting(after) },
        limit: query.limit,
        read: (shard, name) => waiting({ ...query, shard, after: name }),
      });
      return { items, ...(next !== undefined && { next: readWaitingName(next) }) };
    },
  };
}
