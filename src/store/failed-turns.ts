import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, type NamedConversation, nameConversation } from '../domain/ids.ts';
import { TURN_LIMITS, type TurnFailure } from '../domain/turn.ts';
import type { Keyspace } from './keys.ts';
import { callStore, pairsOf, RecordFields } from './records.ts';
import { readRedrive, readTurnFailure } from './turn-record.ts';

/**
 * Most turns that are read at once. A client's call has one second, which includes commands that were queued before.
 */
const READS = 200;

export interface FailedTurn extends NamedConversation {
  readonly turn: string;
  readonly agent: string;
  /** ms since epoch, by the clock of Redis. */
  readonly failedAt: number;
  readonly failure: TurnFailure;
  /** Failed turn whose input this turn ran again. */
  readonly redriveOf?: string;
  /** Latest turn that ran this turn's input again. */
  readonly redrivenAs?: string;
}

export interface FailedQuery {
  /** Only turns that failed at this time or later, in ms since epoch. */
  readonly since: number;
  readonly tenant?: string | undefined;
  readonly code?: string | undefined;
  readonly limit: number;
}

/**
 * With a filter by error code, full pages are read until enough turns match. Reading only as many as are missing would
 * lead to many small reads, one after the other.
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

/** Time from which failed turns are kept. Older entries leave the set only when another turn of the shard fails. */
async function readKeptSince(redis: Redis): Promise<number> {
  const [seconds] = await redis.time();
  return Number(seconds) * 1_000 - TURN_LIMITS.turnRetentionMs;
}

const FIELDS = ['agent', 'failure', 'redriveOf', 'redrivenAs'] as const;

/** Undefined if the turn has expired, was erased or is corrupt, so that the others are still listed. */
async function readFailed(
  redis: Redis,
  keyspace: Keyspace,
  { conversation, turn, failedAt }: FailedEntry,
): Promise<FailedTurn | undefined> {
  try {
    const key = keyspace.turn(conversation, turn);
    const fields = await RecordFields.pick(redis, key, FIELDS);
    if (!fields.has('failure')) return undefined;
    const agent = fields.text('agent') ?? '';
    return {
      ...nameConversation(conversation),
      turn,
      agent,
      failedAt,
      failure: readTurnFailure(fields),
      ...readRedrive(fields),
    };
  } catch (error) {
    if (isTurnfoldError(error, 'corrupt_record')) return undefined;
    throw error;
  }
}

interface FailedEntry {
  readonly member: string;
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly failedAt: number;
}

/** Most entries that one command reads, because a shard may have very many failed turns. */
const PAGE = 200;

/** Merges the sets of all shards. Turns of other tenants are skipped before their records are read. */
class FailedEntries {
  readonly #shards: readonly ShardEntries[];

  constructor(redis: Redis, keyspace: Keyspace, query: FailedQuery) {
    this.#shards = keyspace.shardNumbers().map((shard) => new ShardEntries(redis, keyspace.failed(shard), query));
  }

  async take(count: number): Promise<FailedEntry[]> {
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

/**
 * Reads the failed turns of one shard. A turn that fails between two pages shifts the entries: an entry may be read
 * twice, but none is missed.
 */
class ShardEntries {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #query: FailedQuery;
  /** Entries that were read and not returned yet. Oldest first, so that `pop` returns the newest. */
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

  get newestAt(): number {
    return this.#inHand[this.#inHand.length - 1]?.failedAt ?? Number.NEGATIVE_INFINITY;
  }

  take(): FailedEntry | undefined {
    return this.#inHand.pop();
  }

  async fill(): Promise<void> {
    const { since, tenant, limit } = this.#query;
    // With a filter, only a few entries of a page may match, so full pages are read.
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
  return pairsOf(flat).flatMap(([member, failedAt]) => {
    const [tenant, id, turn, ...rest] = member.split('|');
    // The next sweep moves a malformed member to the quarantine.
    if (tenant === undefined || id === undefined || turn === undefined || rest.length > 0) return [];
    return [{ member, conversation: { tenant, id }, turn, failedAt: Number(failedAt) }];
  });
}
