import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../../domain/errors.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { FailedQuery, FailedTurn } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import { FailedEntries, type FailedEntry } from './failed-entries.ts';
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
