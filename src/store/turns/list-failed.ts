import type { Redis } from 'ioredis';
import type { FailedQuery, FailedTurn } from '../../domain/ports/turn-store.ts';
import type { TurnFailure } from '../../domain/turn.ts';
import { callRedis } from '../connection.ts';
import type { Keyspace } from '../keys.ts';
import { readRedrive } from './turn-record.ts';

/** Entries of one command: a shard may hold very many after a bad hour. */
const PAGE = 200;

/** Reads without a script. Each shard gives its newest, since all of them may be newer than those of the others. */
export async function listFailed(redis: Redis, keyspace: Keyspace, query: FailedQuery): Promise<FailedTurn[]> {
  return callRedis(async () => {
    const shards = await Promise.all(keyspace.shardNumbers().map((shard) => readShard(redis, keyspace, shard, query)));
    return shards
      .flat()
      .toSorted((a, b) => b.failedAt - a.failedAt)
      .slice(0, query.limit);
  });
}

/** A turn that fails meanwhile stands in front and moves the others back: one may be seen twice, and none is missed. */
async function readShard(redis: Redis, keyspace: Keyspace, shard: number, query: FailedQuery): Promise<FailedTurn[]> {
  const found = new Map<string, FailedTurn>();
  for (let at = 0; found.size < query.limit; at += PAGE) {
    const range = ['+inf', query.since, 'LIMIT', at, PAGE] as const;
    const members = await redis.zrevrangebyscore(keyspace.failed(shard), ...range);
    const turns = await Promise.all(members.map((member) => readFailed(redis, keyspace, member)));
    members.forEach((member, index) => {
      const turn = turns[index];
      if (turn !== undefined && isWanted(turn, query)) found.set(member, turn);
    });
    if (members.length < PAGE) break;
  }
  return [...found.values()];
}

const FIELDS = ['agent', 'settledAt', 'failure', 'redriveOf', 'redrivenAs'] as const;

/** Undefined where the turn is no longer kept: its entry goes when another turn of the shard fails. */
async function readFailed(redis: Redis, keyspace: Keyspace, member: string): Promise<FailedTurn | undefined> {
  const [tenant = '', id = '', turn = ''] = member.split('|');
  const conversation = { tenant, id };
  const values = await redis.hmget(keyspace.turn(conversation, turn), ...FIELDS);
  const fields = new Map(FIELDS.flatMap((field, index) => (values[index] ? [[field as string, values[index]]] : [])));
  const failure = fields.get('failure');
  if (failure === undefined) return undefined;
  return {
    conversation,
    turn,
    agent: fields.get('agent') ?? '',
    failedAt: Number(fields.get('settledAt')),
    failure: JSON.parse(failure) as TurnFailure,
    ...readRedrive(fields),
  };
}

function isWanted({ conversation, failure }: FailedTurn, { tenant, code }: FailedQuery): boolean {
  const isOfTenant = tenant === undefined || conversation.tenant === tenant;
  return isOfTenant && (code === undefined || failure.code === code);
}
