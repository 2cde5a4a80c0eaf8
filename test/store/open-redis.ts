import { randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { afterAll, inject } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { openStore } from '../../src/store/open-store.ts';
import { openConnection } from '../../src/store/redis/connection.ts';

const SUITE_SHARDS = 4;

/**
 * Shards that no other suite uses. All conversations of a shard share its `ready` set, so a sweeper under test in another
 * file would push this suite's entries.
 */
export class SuiteKeyspace extends Keyspace {
  readonly firstShard = randomInt(1_000, 1_000_000) * SUITE_SHARDS;

  constructor() {
    super(SUITE_SHARDS);
  }

  override shardOf(conversation: ConversationRef): number {
    return this.firstShard + super.shardOf(conversation);
  }

  override accessKeys(): string {
    return `{tf${this.firstShard}}:keys`;
  }

  override accessKey(id: string): string {
    return `{tf${this.firstShard}}:key:${id}`;
  }

  override webhooks(): string {
    return `{tf${this.firstShard}}:webhooks`;
  }

  override webhookHealth(id: string): string {
    return `{tf${this.firstShard}}:webhook:${id}`;
  }

  override readonly sweeping = (): string => `{tf${this.firstShard}}:sweeping`;

  override readonly delivering = (): string => `{tf${this.firstShard}}:delivering`;

  override shardNumbers(): number[] {
    return Array.from({ length: SUITE_SHARDS }, (_, index) => this.firstShard + index);
  }
}

export interface SuiteRedis {
  readonly redis: Redis;
  readonly keyspace: SuiteKeyspace;
  /** Removes the keys of the suite, and no other key. */
  readonly close: () => Promise<void>;
}

/** Opens the Redis of the test run, with keys of the suite's own. */
export function openSuiteRedis(): SuiteRedis {
  const redis = openConnection({ url: inject('redisUrl') });
  const keyspace = new SuiteKeyspace();
  return {
    redis,
    keyspace,
    close: async () => {
      for (const shard of keyspace.shardNumbers()) {
        for await (const keys of redis.scanStream({ match: `{tf${shard}}:*`, count: 1_000 })) {
          if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
        }
      }
      await redis.quit();
    },
  };
}

/** Opens a store with keys of its own, which are removed after the tests of the file or block. */
export function openSuiteStore() {
  const { redis, keyspace, close } = openSuiteRedis();
  afterAll(close);
  return { redis, keyspace, store: openStore(redis, keyspace) };
}

/** Reads the names of all keys of a conversation, sorted. */
export async function readKeys(redis: Redis, keyspace: Keyspace, { id, tenant }: ConversationRef): Promise<string[]> {
  const found: string[] = [];
  const match = `{tf${keyspace.shardOf({ id, tenant })}}:*${id}*`;
  for await (const keys of redis.scanStream({ match, count: 1_000 })) found.push(...(keys as string[]));
  return found.toSorted();
}
