import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, nameConversation } from '../domain/ids.ts';
import type { FailedQuery, FailedTurn } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import type { Keyspace } from './keys.ts';
import { callStore, RecordFields } from './records.ts';
import { readFailure, readRedrive } from './turn-record.ts';

/** Reads under way at once: a client's call has a second, and all of what waits in front of it counts. */
const READS = 200;

/**
 * Reads without a script. Why a turn failed is read of as many as are asked for, and by a code of as many as it takes; as
 * many again where some of them are gone: rounds of what is still missing shrink to one read after the other.
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

/** Turns that were settled before it have expired, by Redis' clock. Their entries go when another turn of their shard fails. */
async function readKeptSince(redis: Redis): Promise<number> {
  const [seconds] = await redis.time();
  return Number(seconds) * 1_000 - TURN_LIMITS.turnRetentionMs;
}

const FIELDS = ['agent', 'failure', 'redriveOf', 'redrivenAs'] as const;

/**
 * Undefined where the turn has expired or was erased meanwhile, or where it cannot be read: it is one of many, and the other
 * ones are what was asked for.
 */
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
class FailedEntries {
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
