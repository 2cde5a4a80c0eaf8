import { readdirSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { DatabaseLoss } from '../domain/database-loss.ts';
import { isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { refuseSchema } from './database.ts';
import { readDatabaseLoss } from './database-watch.ts';
import { decodeDueEntry, isDueEntry } from './due-work.ts';
import { type GateState, listGates } from './gates.ts';
import { Keyspace, SCHEMAS } from './keys.ts';
import { listMissingAgents, type MissingAgent } from './missing-agents.ts';
import { type ListedWorker, listWorkers } from './presence.ts';
import { callStore } from './records.ts';
import { checkAccess } from './redis/access.ts';
import type { RedisLocation } from './redis/address.ts';
import { callRedis, connect, openConnection } from './redis/connection.ts';
import {
  type AnswerTimes,
  measureAnswers,
  readClock,
  readServerFacts,
  type ServerFacts,
} from './redis/server-facts.ts';
import { askMasters, type MasterAnswers, unlessForbidden } from './redis/servers.ts';
import { readLua, type ScriptDefinition, scriptBinder } from './script.ts';
import type { ShardMeasure } from './shard-measures.ts';
import { openSweepStore } from './sweep.ts';
import { openWebhookStore, type WebhookStatus } from './webhooks.ts';

export interface DatabaseFacts {
  readonly schema: number;
  readonly shards: number;
  /** Schema that this program writes. */
  readonly current: number;
  /** Error with which workers and clients refuse the schema of the database. */
  readonly refusal: TurnfoldError | undefined;
}

/** Access of `doctor` to a Redis and its database. Only `releaseQuarantined` writes. */
export interface Inspection {
  readServers(): Promise<MasterAnswers<ServerFacts>>;
  measureAnswers(count: number): Promise<AnswerTimes>;
  /** @throws redis_denied if the Redis user lacks permissions that a worker needs */
  checkAccess(): Promise<void>;
  /** True if the server knows the command WAITAOF. Undefined if the server forbids asking. */
  canWaitForDisks(): Promise<boolean | undefined>;
  loadScripts(): Promise<number>;
  /** Reads the settings of the database. Returns undefined if there is none. */
  readDatabase(): Promise<DatabaseFacts | undefined>;
  /** Reads the loss of data that was noted last. */
  readDatabaseLoss: () => Promise<(DatabaseLoss & { readonly agoMs: number }) | undefined>;
  measureShards(shards: number): Promise<ShardMeasure>;
  /** Returns up to 100 quarantined records of each shard. */
  listQuarantined(shards: number): Promise<QuarantinedRecord[]>;
  /** Takes a record out of quarantine. Returns false if there is no such record. */
  releaseQuarantined(shards: number, release: Release): Promise<boolean>;
  /** Returns the agents that have work due or scheduled, each with one of its conversations. */
  listWaitingAgents(shards: number): Promise<Map<string, ConversationRef>>;
  /** Lists all webhooks with their health. */
  listWebhooks(): Promise<WebhookStatus[]>;
  /** Lists worker processes by the times of their last renewals, the latest first. */
  listWorkers(): Promise<ListedWorker[]>;
  /** Lists the agents that have work, and that no running worker has. */
  listMissingAgents(): Promise<MissingAgent[]>;
  /** Lists the gates of models that hold calls, or did so within the last minute. */
  listGates(): Promise<GateState[]>;
  /** Clock of Redis in ms since epoch, by which the stores write their times. */
  readClock(): Promise<number>;
  /** Counts the failed turns of each of the last `minutes` minutes until `at`, oldest first. */
  countFailures(shards: number, period: FailurePeriod): Promise<number[]>;
  close(): void;
}

const ANSWER_MS = 5_000;

/**
 * Opens a connection for `doctor`.
 * @throws invalid_config if the URL is invalid. redis_unavailable if Redis does not answer.
 */
export async function openInspection(location: RedisLocation): Promise<Inspection> {
  const redis = openConnection({ ...location, failsFast: true, staysDemoted: true, failSilenceMs: ANSWER_MS });
  try {
    await connect(redis, location);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  const { prefix } = location;
  const spaceOf = (shards: number): Keyspace => new Keyspace(shards, prefix);
  const shared = spaceOf(1);
  return {
    readServers: () => readServerFacts(redis),
    checkAccess: () => callStore(() => checkAccess(redis, prefix)),
    measureAnswers: (count) => measureAnswers(redis, count),
    canWaitForDisks: () => canWaitForDisks(redis),
    loadScripts: () => loadScripts(redis),
    readDatabase: () => readDatabase(redis, shared),
    measureShards: (shards) => openSweepStore(redis, spaceOf(shards)).measureShards(),
    listQuarantined: (shards) => listQuarantined(redis, spaceOf(shards)),
    releaseQuarantined: (shards, release) => scriptBinder(redis, spaceOf(shards))(releaseScript)(release),
    listWaitingAgents: (shards) => listWaitingAgents(redis, spaceOf(shards)),
    listWebhooks: () => openWebhookStore(redis, shared).listWebhooks(),
    listWorkers: async () => listWorkers(redis, shared, await readClock(redis)),
    listMissingAgents: async () => await listMissingAgents(redis, shared, await readClock(redis)),
    listGates: () => listGates(redis, shared),
    readDatabaseLoss: () => readDatabaseLoss(redis, shared),
    readClock: () => readClock(redis),
    countFailures: (shards, period) => countFailures(redis, spaceOf(shards), period),
    close: () => redis.disconnect(),
  };
}

async function canWaitForDisks(redis: Redis): Promise<boolean | undefined> {
  const answer = await callStore(() => unlessForbidden(redis.call('command', ['info', 'waitaof'])));
  return answer === undefined ? undefined : Array.isArray(answer) && answer[0] !== null;
}

async function readDatabase(redis: Redis, keyspace: Keyspace): Promise<DatabaseFacts | undefined> {
  const key = keyspace.database();
  const [schema, shards] = await callStore(() => redis.hmget(key, 'schema', 'shards'));
  if (!schema && !shards) return undefined;
  return {
    schema: Number(schema),
    shards: Number(shards),
    current: SCHEMAS.current,
    refusal: refuseSchema(schema ?? ''),
  };
}

/**
 * Loads every Lua script on every server, without running it.
 * @returns the number of scripts
 */
async function loadScripts(redis: Redis): Promise<number> {
  const files = readdirSync(new URL('./lua', import.meta.url)).filter((file) => file.endsWith('.lua'));
  const texts = files.map(readLua);
  await askMasters(redis, async (master) => {
    for (const text of texts) await callRedis(() => master.script('LOAD', text));
    return true;
  });
  return texts.length;
}

interface FailurePeriod {
  /** A time in the last minute, in ms since epoch. */
  readonly at: number;
  readonly minutes: number;
}

const countFailuresScript: ScriptDefinition<[shard: number, period: FailurePeriod], number[]> = {
  file: 'count-failures',
  keys: ([shard], keyspace) => [keyspace.failed(shard)],
  args: ([, { at, minutes }]) => [at, minutes],
  decode: (reply) => reply as number[],
};

async function countFailures(redis: Redis, keyspace: Keyspace, period: FailurePeriod): Promise<number[]> {
  const count = scriptBinder(redis, keyspace)(countFailuresScript);
  const shards = await Promise.all(keyspace.shardNumbers().map((shard) => count(shard, period)));
  return Array.from({ length: period.minutes }, (_, at) => shards.reduce((sum, counts) => sum + (counts[at] ?? 0), 0));
}

export interface QuarantinedRecord {
  readonly shard: number;
  /** Redis set and member that were quarantined, or `key` and the name of a key. */
  readonly name: string;
  /** Time of the quarantine in ms since epoch. Undefined if the note about it is corrupt. */
  readonly at: number | undefined;
  readonly why: string;
}

/** Maximum quarantined records that are read per shard. */
const MOST_RECORDS = 100;

export async function listQuarantined(redis: Redis, keyspace: Keyspace): Promise<QuarantinedRecord[]> {
  const readShard = async (shard: number): Promise<QuarantinedRecord[]> => {
    const key = keyspace.quarantined(shard);
    const [, flat] = await callStore(() => redis.hscan(key, '0', 'COUNT', MOST_RECORDS));
    return flat.flatMap((name, at) => (at % 2 === 0 ? [readNote(shard, name, flat[at + 1] ?? '')] : []));
  };
  return (await Promise.all(keyspace.shardNumbers().map(readShard))).flat();
}

/** Parses the note about a quarantined record: time, score and reason. */
function readNote(shard: number, name: string, note: string): QuarantinedRecord {
  const [, at, why] = /^(\d{1,15}) \S+ (.*)$/s.exec(note) ?? [];
  return { shard, name, at: at === undefined ? undefined : Number(at), why: why ?? note };
}

export interface Release {
  readonly shard: number;
  readonly name: string;
  /** True puts the record back into its set, due now. False drops the record. */
  readonly isRestored: boolean;
}

const releaseScript: ScriptDefinition<[Release], boolean> = {
  file: 'release-quarantined',
  keys: ([{ shard }], keyspace) => [keyspace.quarantined(shard)],
  args: ([{ shard, name, isRestored }], keyspace) => [keyspace.shardPrefix(shard), name, isRestored ? 1 : 0],
  decode: (reply) => reply === 1,
};

/** Maximum entries of due work that are read per shard, those due earliest. */
const MOST_ENTRIES = 100;

async function listWaitingAgents(redis: Redis, keyspace: Keyspace): Promise<Map<string, ConversationRef>> {
  const readShard = async (shard: number): Promise<[string | null, ConversationRef][]> => {
    const entries = await callStore(() => redis.zrange(keyspace.ready(shard), '0', String(MOST_ENTRIES - 1)));
    const conversations = entries.filter(isDueEntry).map((entry) => decodeDueEntry(entry).conversation);
    return await Promise.all(
      conversations.map(async (conversation) => {
        return [await readAgent(redis, keyspace.key(conversation, 'c')), conversation];
      }),
    );
  };
  const found = await Promise.all(keyspace.shardNumbers().map(readShard));
  return new Map(found.flat().filter((pair): pair is [string, ConversationRef] => pair[0] !== null));
}

/**
 * Reads the agent that owns a conversation. Returns null if the conversation does not exist or its record is corrupt,
 * because the sweeper quarantines a corrupt record.
 */
async function readAgent(redis: Redis, key: string): Promise<string | null> {
  try {
    return await callStore(() => redis.hget(key, 'agent'));
  } catch (error) {
    if (isTurnfoldError(error, 'corrupt_record')) return null;
    throw error;
  }
}
