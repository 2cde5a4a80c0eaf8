import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { FailedQuery } from '../../domain/ports/turn-store.ts';
import type { Keyspace } from '../keys.ts';

/** A failed turn as its shard's set names it. */
export interface FailedEntry {
  readonly member: string;
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly failedAt: number;
}

/** Entries of one command: a shard may hold very many after a bad hour. */
const PAGE = 200;

/** The entries of all shards as one row, newest first; those of other tenants are left out unread. */
export class FailedEntries {
  readonly #shards: readonly ShardEntries[];

  constructor(redis: Redis, keyspace: Keyspace, query: FailedQuery) {
    this.#shards = keyspace.shardNumbers().map((shard) => new ShardEntries(redis, keyspace.failed(shard), query));
  }

  /** The next ones, fewer where there are no more. */
  async take(count: number): Promise<FailedEntry[]> {
    // One that has nothing in hand may have the newest.
    await Promise.all(this.#shards.map((shard) => shard.fill()));
    const taken: FailedEntry[] = [];
    while (taken.length < count) {
      const shard = this.#shards.reduce((best, one) => (one.newestAt > best.newestAt ? one : best));
      const entry = shard.take();
      if (entry === undefined) break;
      taken.push(entry);
      if (shard.isEmpty) await shard.fill();
    }
    return taken;
  }
}

/** A turn that fails meanwhile stands in front and moves the others back: one may come twice, and none is missed. */
class ShardEntries {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #query: FailedQuery;
  /** oldest first, so that the newest is taken off the end */
  #inHand: FailedEntry[] = [];
  #readCount = 0;
  #isAtEnd = false;

  constructor(redis: Redis, key: string, query: FailedQuery) {
    this.#redis = redis;
    this.#key = key;
    this.#query = query;
  }

  get isEmpty(): boolean {
    return this.#inHand.length === 0;
  }

  /** before all time where nothing is in hand */
  get newestAt(): number {
    return this.#inHand[this.#inHand.length - 1]?.failedAt ?? Number.NEGATIVE_INFINITY;
  }

  take(): FailedEntry | undefined {
    return this.#inHand.pop();
  }

  /** Reads on where nothing is in hand. */
  async fill(): Promise<void> {
    const { since, tenant, limit } = this.#query;
    // Of what is filtered few may be wanted.
    const page = tenant === undefined && this.#query.code === undefined ? Math.min(limit, PAGE) : PAGE;
    while (this.isEmpty && !this.#isAtEnd) {
      const limits = ['LIMIT', this.#readCount, page] as const;
      const flat = await this.#redis.zrevrangebyscore(this.#key, '+inf', since, 'WITHSCORES', ...limits);
      const entries = readEntries(flat);
      this.#readCount += flat.length / 2;
      this.#isAtEnd = flat.length / 2 < page;
      this.#inHand = entries
        .filter(({ conversation }) => tenant === undefined || conversation.tenant === tenant)
        .toReversed();
    }
  }
}

/** Of members and scores in turn. */
function readEntries(flat: readonly string[]): FailedEntry[] {
  return flat.flatMap((member, at) => {
    if (at % 2 === 1) return [];
    const [tenant, id, turn, ...rest] = member.split('|');
    // The next sweep sets such a member aside.
    if (tenant === undefined || id === undefined || turn === undefined || rest.length > 0) return [];
    return [{ member, conversation: { tenant, id }, turn, failedAt: Number(flat[at + 1]) }];
  });
}
