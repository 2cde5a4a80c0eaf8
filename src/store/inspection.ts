import { readdirSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { ShardMeasure } from '../domain/ports/sweep-store.ts';
import { checkAccess } from '../redis/access.ts';
import type { RedisLocation } from '../redis/address.ts';
import { callRedis, connect, openConnection } from '../redis/connection.ts';
import { type AnswerTimes, measureAnswers, readServerFacts, type ServerFacts } from '../redis/server-facts.ts';
import { askMasters, type MasterAnswers, unlessForbidden } from '../redis/servers.ts';
import { Keyspace, STORE_SCHEMA } from './keys.ts';
import { callStore } from './records.ts';
import { bindScript, readLua, type ScriptDefinition } from './script.ts';
import { decodeDueEntry, isDueEntry, openSweepStore } from './sweep.ts';

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

/** Has every server compile every script of the store, and runs none. @returns how many there are */
async function loadScripts(redis: Redis): Promise<number> {
  const files = readdirSync(new URL('./lua', import.meta.url)).filter((file) => file.endsWith('.lua'));
  const texts = files.map(readLua);
  await askMasters(redis, async (master) => {
    for (const text of texts) await callRedis(() => master.script('LOAD', text));
    return true;
  });
  return texts.length;
}

/** A record that was set aside. */
export interface QuarantinedRecord {
  readonly shard: number;
  /** set and member, or `key` and the name of a key */
  readonly name: string;
  /** ms since epoch; undefined where the note itself cannot be read */
  readonly at: number | undefined;
  readonly why: string;
}

/** Of one shard: whoever asks looks at some of them, then asks again. */
const MOST_RECORDS = 100;

/** @param keyspace of the database that was opened */
export async function listQuarantined(redis: Redis, keyspace: Keyspace): Promise<QuarantinedRecord[]> {
  const readShard = async (shard: number): Promise<QuarantinedRecord[]> => {
    const key = keyspace.quarantined(shard);
    const [, flat] = await callStore(() => redis.hscan(key, '0', 'COUNT', MOST_RECORDS));
    return flat.flatMap((name, at) => (at % 2 === 0 ? [readNote(shard, name, flat[at + 1] ?? '')] : []));
  };
  return (await Promise.all(keyspace.shardNumbers().map(readShard))).flat();
}

/** When, the score, why. */
function readNote(shard: number, name: string, note: string): QuarantinedRecord {
  const [, at, why] = /^(\d{1,15}) \S+ (.*)$/s.exec(note) ?? [];
  return { shard, name, at: at === undefined ? undefined : Number(at), why: why ?? note };
}

export interface Release {
  readonly shard: number;
  readonly name: string;
  /** back into its set, due now; otherwise it is dropped */
  readonly isRestored: boolean;
}

/** @returns false where there is no such record */
async function releaseQuarantined(redis: Redis, keyspace: Keyspace, release: Release): Promise<boolean> {
  return await bindScript(redis, releaseScript(keyspace))(release);
}

function releaseScript(keyspace: Keyspace): ScriptDefinition<Release, boolean> {
  return {
    file: 'release-quarantined',
    keys: ({ shard }) => [keyspace.quarantined(shard)],
    args: ({ shard, name, isRestored }) => [keyspace.shardPrefix(shard), name, isRestored ? 1 : 0],
    decode: (reply) => reply === 1,
  };
}

/** Of one shard, those that are due first: who asks wants to know of whom there are any. */
const MOST_ENTRIES = 100;

/** Agents of conversations that a worker has to look at, now or later, and one of those conversations each. */
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

/** null where there is none, or where the record cannot be read: the sweeper sets that one aside. */
async function readAgent(redis: Redis, key: string): Promise<string | null> {
  try {
    return await callStore(() => redis.hget(key, 'agent'));
  } catch (error) {
    if (isTurnfoldError(error, 'corrupt_record')) return null;
    throw error;
  }
}
