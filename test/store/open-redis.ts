import { randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import { inject } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { openConnection } from '../../src/redis/connection.ts';
import { Keyspace } from '../../src/store/keys.ts';

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

  override shardNumbers(): number[] {
    return Array.from({ length: SUITE_SHARDS }, (_, index) => this.firstShard + index);
  }
}

export interface SuiteRedis {
  readonly redis: Redis;
  readonly keyspace: SuiteKeyspace;
  /** removes what the suite made, and nothing else */
  readonly close: () => Promise<void>;
}

/** The run's Redis, with keys of this suite's own. */
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
