import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { ShardMeasure } from '../../domain/ports/sweep-store.ts';
import { checkAccess } from '../../redis/access.ts';
import type { RedisLocation } from '../../redis/address.ts';
import { connect, openConnection } from '../../redis/connection.ts';
import { type AnswerTimes, measureAnswers, readServerFacts, type ServerFacts } from '../../redis/server-facts.ts';
import { type MasterAnswers, unlessForbidden } from '../../redis/servers.ts';
import { callStore } from '../corrupt-record.ts';
import { Keyspace, STORE_SCHEMA } from '../keys.ts';
import { openSweepStore } from '../sweep/sweep-store.ts';
import { loadScripts } from './load-scripts.ts';
import { listQuarantined, type QuarantinedRecord, type Release, releaseQuarantined } from './quarantined.ts';
import { listWaitingAgents } from './waiting-agents.ts';

export interface DatabaseFacts {
  readonly schema: number;
  readonly shards: number;
  /** the newest schema that this program knows */
  readonly knownSchema: number;
}

/** A look at a Redis and at the database in it. But for a release nothing is written, whatever is found. */
export interface Inspection {
  readServers(): Promise<MasterAnswers<ServerFacts>>;
  measureAnswers(count: number): Promise<AnswerTimes>;
  /** @throws redis_denied where our user may not do all that a worker does */
  checkAccess(): Promise<void>;
  /** whether it can wait for disks (WAITAOF); undefined where that may not be asked */
  canWaitForDisks(): Promise<boolean | undefined>;
  loadScripts(): Promise<number>;
  /** undefined where there is no database yet */
  readDatabase(): Promise<DatabaseFacts | undefined>;
  /** of a database that was made with so many shards */
  measureShards(shards: number): Promise<ShardMeasure>;
  /** of a database that was made with so many shards: some of each */
  listQuarantined(shards: number): Promise<QuarantinedRecord[]>;
  /** the one thing here that writes; false where there is no such record */
  releaseQuarantined(shards: number, release: Release): Promise<boolean>;
  /** of conversations that a worker has to look at, one for each agent, of a database that was made with so many shards */
  listWaitingAgents(shards: number): Promise<Map<string, ConversationRef>>;
  close(): void;
}

const ANSWER_MS = 5_000;

/** @throws invalid_config, redis_unavailable */
export async function openInspection(location: RedisLocation): Promise<Inspection> {
  const redis = openConnection({ ...location, failsFast: true, commandTimeoutMs: ANSWER_MS });
  try {
    await connect(redis, location);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  return {
    readServers: () => readServerFacts(redis),
    checkAccess: () => callStore(() => checkAccess(redis)),
    measureAnswers: (count) => measureAnswers(redis, count),
    canWaitForDisks: () => canWaitForDisks(redis),
    loadScripts: () => loadScripts(redis),
    readDatabase: () => readDatabase(redis),
    measureShards: (shards) => openSweepStore(redis, new Keyspace(shards)).measureShards(),
    listQuarantined: (shards) => listQuarantined(redis, new Keyspace(shards)),
    releaseQuarantined: (shards, release) => releaseQuarantined(redis, new Keyspace(shards), release),
    listWaitingAgents: (shards) => listWaitingAgents(redis, new Keyspace(shards)),
    close: () => redis.disconnect(),
  };
}

async function canWaitForDisks(redis: Redis): Promise<boolean | undefined> {
  const answer = await callStore(() => unlessForbidden(redis.call('command', ['info', 'waitaof'])));
  return answer === undefined ? undefined : Array.isArray(answer) && answer[0] !== null;
}

async function readDatabase(redis: Redis): Promise<DatabaseFacts | undefined> {
  const key = new Keyspace(1).database();
  const [schema, shards] = await callStore(() => redis.hmget(key, 'schema', 'shards'));
  if (!schema || !shards) return undefined;
  return { schema: Number(schema), shards: Number(shards), knownSchema: STORE_SCHEMA };
}
