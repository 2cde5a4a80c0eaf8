import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, nameConversation } from '../domain/ids.ts';
import type { FailedQuery, FailedTurn } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import type { Keyspace } from './keys.ts';
import { callStore, RecordFields } from './records.ts';
import { readFailure, readRedrive } from './turn-record.ts';

/** Reads in flight at once. A client's call has a second, which includes the commands queued before it. */
const READS = 200;

/**
 * Reads without a script. With a filter by code, it reads full pages until enough turns match. It also reads full pages to
 * replace removed turns, because ever smaller rounds would become one read after the other.
 */
export async function listFailed(redis: Redis, keyspace: Keyspace, query: FailedQuery): Promise<FailedTurn[]> {
  const found = new Map<string, FailedTurn>();
  return callStore(async () => {
    const since = Math.max(query.since, await readKeptSince(redis));
    const entries = new FailedEntries(redis, keyspace, { ...query, since });
    const count = query.code === undefined ? Math.min(query.limit, READS) : READS;
    while (found.size < query.limit) {
      const next = await entries.take(count);
      const turns = await Promise.all(next.map((entry) => readFailed(redis, keyspace, entry)));
      for (const [at, turn] of turns.entries()) {
        const isWanted = turn !== undefined && (query.code === undefined || turn.failure.code === query.code);
        if (isWanted) found.set(next[at]?.member ?? '', turn);
      }
      if (next.length < count) break;
    }
    return [...found.values()].slice(0, query.limit);
  });
}

/**
 * Earliest settlement that is still kept, by the clock of Redis. Older entries are removed when another turn of the shard
 * fails.
 */
async function readKeptSince(redis: Redis): Promise<number> {
  const [seconds] = await redis.time();
  return Number(seconds) * 1_000 - TURN_LIMITS.turnRetentionMs;
}

const FIELDS = ['agent', 'failure', 'redriveOf', 'redrivenAs'] as const;

/** Returns undefined for an expired, erased or corrupt turn, so that the others are listed. */
async function readFailed(
  redis: Redis,
  keyspace: Keyspace,
  { conversation, turn, failedAt }: FailedEntry,
): Promise<FailedTurn | undefined> {
  try {
    const key = keyspace.turn(conversation, turn);
    const fields = RecordFields.ofValues(key, FIELDS, await callStore(() => redis.hmget(key, ...FIELDS)));
    if (!fields.has('failure')) return undefined;
    const agent = fields.text('agent') ?? '';
    return {
      ...nameConversation(conversation),
      turn,
      agent,
      failedAt,
      failure: readFailure(fields),
      ...readRedrive(fields),
    };
  } catch (error) {
    if (isTurnfoldError(error, 'corrupt_record')) return undefined;
    throw error;
  }
}

/** A member of the set of failed turns. */
export interface FailedEntry {
  readonly member: string;
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly failedAt: number;
}

/** Entries read by one command, because a shard may hold very many. */
const PAGE = 200;

/** Failed turns of all shards, newest first. Other tenants are filtered out before their turns are read. */
class FailedEntries {
  readonly #shards: readonly ShardEntries[];

  constructor(redis: Redis, keyspace: Keyspace, query: FailedQuery) {
    this.#shards = keyspace.shardNumbers().map((shard) => new ShardEntries(redis, keyspace.failed(shard), query));
  }

  /** Returns the next entries, fewer at the end. */
  async take(count: number): Promise<FailedEntry[]> {
    // An empty buffer may hide the newest entry.
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

/** A turn that fails meanwhile shifts the pages: an entry may be read twice, but none is missed. */
class ShardEntries {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #query: FailedQuery;
  /** Oldest first, so that `pop` takes the newest. */
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

  /** Negative infinity if the buffer is empty. */
  get newestAt(): number {
    return this.#inHand[this.#inHand.length - 1]?.failedAt ?? Number.NEGATIVE_INFINITY;
  }

  take(): FailedEntry | undefined {
    return this.#inHand.pop();
  }

  /** Reads the next page if the buffer is empty. */
  async fill(): Promise<void> {
    const { since, tenant, limit } = this.#query;
    // Few entries may match a filter, so full pages are read.
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

function readEntries(flat: readonly string[]): FailedEntry[] {
  return flat.flatMap((member, at) => {
    if (at % 2 === 1) return [];
    const [tenant, id, turn, ...rest] = member.split('|');
    // The next sweep sets such a member aside.
    if (tenant === undefined || id === undefined || turn === undefined || rest.length > 0) return [];
    return [{ member, conversation: { tenant, id }, turn, failedAt: Number(flat[at + 1]) }];
  });
}
