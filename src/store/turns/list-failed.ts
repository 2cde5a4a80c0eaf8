import type { Redis } from 'ioredis';
import type { FailedQuery, FailedTurn } from '../../domain/ports/turn-store.ts';
import type { TurnFailure } from '../../domain/turn.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { FailedEntries, type FailedEntry } from './failed-entries.ts';
import { readRedrive } from './turn-record.ts';

/** Reads under way at once: a client's call has a second, and all of what waits in front of it counts. */
const READS = 200;

/** Reads without a script. Why a turn failed is read of as many as are asked for, and by a code of as many as it takes. */
export async function listFailed(redis: Redis, keyspace: Keyspace, query: FailedQuery): Promise<FailedTurn[]> {
  const entries = new FailedEntries(redis, keyspace, query);
  const found = new Map<string, FailedTurn>();
  return callRedis(async () => {
    while (found.size < query.limit) {
      const count = query.code === undefined ? Math.min(query.limit - found.size, READS) : READS;
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

const FIELDS = ['agent', 'failure', 'redriveOf', 'redrivenAs'] as const;

/** Undefined where the turn is no longer kept: its entry goes when another turn of the shard fails. */
async function readFailed(
  redis: Redis,
  keyspace: Keyspace,
  { conversation, turn, failedAt }: FailedEntry,
): Promise<FailedTurn | undefined> {
  const values = await redis.hmget(keyspace.turn(conversation, turn), ...FIELDS);
  const fields = new Map(FIELDS.flatMap((field, index) => (values[index] ? [[field as string, values[index]]] : [])));
  const failure = fields.get('failure');
  if (failure === undefined) return undefined;
  return {
    conversation,
    turn,
    agent: fields.get('agent') ?? '',
    failedAt,
    failure: JSON.parse(failure) as TurnFailure,
    ...readRedrive(fields),
  };
}
