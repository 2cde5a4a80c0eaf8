import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import type { Redis } from 'ioredis';
import { isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { refuseSchema } from './database.ts';
import { readDatabaseLoss } from './database-watch.ts';
import { decodeDueEntry, isDueEntry } from './due-work.ts';
import { listGates } from './gates.ts';
import { Keyspace, SCHEMAS } from './keys.ts';
import { loadLua } from './lua-file.ts';
import { bindMeasureShards } from './measures.ts';
import { listMissingAgents } from './missing-agents.ts';
import { listWorkers } from './presence.ts';
import { listQuarantined, type Release, releaseQuarantinedScript } from './quarantine.ts';
import { callStore } from './records.ts';
import { checkAccess } from './redis/access.ts';
import type { RedisLocation } from './redis/address.ts';
import { callRedis, connect, openConnection } from './redis/connection.ts';
import { measureAnswers, readClock, readRedisFacts } from './redis/server-facts.ts';
import { askMasters, unlessForbidden } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { openWebhookStore } from './webhooks.ts';

export interface DatabaseFacts {
  readonly schema: number;
  readonly shards: number;
  readonly current: number;
  readonly refusal: TurnfoldError | undefined;
}

const ANSWER_MS = 5_000;

/**
 * Opens a connection for `doctor` and the reports of `fleet`. Only `releaseQuarantined` writes.
 * @throws invalid_config if the URL is invalid. redis_unavailable if Redis does not answer.
 */
export async function openInspection(location: RedisLocation) {
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
    readServers: () => readRedisFacts(redis),
    /** @throws redis_denied if the Redis user lacks permissions that a worker needs */
    checkAccess: () => callStore(() => checkAccess(redis, prefix)),
    measureAnswers: (count: number) => measureAnswers(redis, count),
    canWaitForDisks: () => canWaitForDisks(redis),
    loadScripts: () => loadScripts(redis),
    readDatabase: () => readDatabase(redis, shared),
    measureShards: (shards: number) => bindMeasureShards(redis, spaceOf(shards))(),
    listQuarantined: (shards: number) => listQuarantined(redis, spaceOf(shards)),
    releaseQuarantined: (shards: number, release: Release) =>
      scriptBinder(redis, spaceOf(shards))(releaseQuarantinedScript)(release),
    listWaitingAgents: (shards: number) => listWaitingAgents(redis, spaceOf(shards)),
    listWebhooks: () => openWebhookStore(redis, shared).listWebhooks(),
    listWorkers: async () => listWorkers(redis, shared, await readClock(redis)),
    listMissingAgents: async () => await listMissingAgents(redis, shared, await readClock(redis)),
    listGates: () => listGates(redis, shared),
    readDatabaseLoss: () => readDatabaseLoss(redis, shared),
    readClock: () => readClock(redis),
    countFailures: (shards: number, period: FailurePeriod) => countFailures(redis, spaceOf(shards), period),
    close: () => redis.disconnect(),
  };
}

export type Inspection = Awaited<ReturnType<typeof openInspection>>;

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

async function loadScripts(redis: Redis): Promise<number> {
  const files = readdirSync(new URL('./lua', import.meta.url)).filter((file) => file.endsWith('.lua'));
  const texts = files.map((file) => loadLua(basename(file, '.lua')).text);
  await askMasters(redis, async (master) => {
    for (const text of texts) await callRedis(() => master.script('LOAD', text));
    return true;
  });
  return texts.length;
}

interface FailurePeriod {
  readonly at: number;
  readonly minutes: number;
}

const countFailuresScript: ScriptDefinition<[shard: number, period: FailurePeriod], number[]> = {
  file: 'count-failures',
  keys: ([shard], keyspace) => ({ failed: keyspace.failed(shard) }),
  args: ([, { at, minutes }]) => ({ at, minutes }),
  decode: (reply) => reply as number[],
};

async function countFailures(redis: Redis, keyspace: Keyspace, period: FailurePeriod): Promise<number[]> {
  const count = scriptBinder(redis, keyspace)(countFailuresScript);
  const shards = await Promise.all(keyspace.shardNumbers().map((shard) => count(shard, period)));
  return Array.from({ length: period.minutes }, (_, at) => shards.reduce((sum, counts) => sum + (counts[at] ?? 0), 0));
}

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

/** Null if the conversation does not exist, or if its record is corrupt, which the sweeper quarantines. */
async function readAgent(redis: Redis, key: string): Promise<string | null> {
  try {
    return await callStore(() => redis.hget(key, 'agent'));
  } catch (error) {
    if (isTurnfoldError(error, 'corrupt_record')) return null;
    throw error;
  }
}
