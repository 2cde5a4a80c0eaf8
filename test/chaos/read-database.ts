import type { Redis } from 'ioredis';
import type { LogEntry } from '../../src/domain/message.ts';
import type { Version } from '../../src/domain/version.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { decodeLogEntry } from '../../src/store/log.ts';
import { readLogTexts } from '../store/read-log-texts.ts';

/** The records of a conversation in Redis. */
export interface StoredConversation {
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly log: readonly LogEntry[];
  /** Ascending. */
  readonly versions: readonly Version[];
  /** Names of the stored texts, such as summaries. */
  readonly texts: ReadonlySet<string>;
  readonly mailbox: readonly string[];
  readonly pass: Readonly<Record<string, string>>;
  /** Durable events, oldest first. */
  readonly events: readonly Readonly<Record<string, string>>[];
  /** Fields of each turn, by turn id. */
  readonly turns: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** Reads with plain commands, so that a defect of the store cannot hide itself. Only key names and log entries use its code. */
export async function readConversation(
  redis: Redis,
  shards: number,
  { id, turns }: { readonly id: string; readonly turns: readonly string[] },
): Promise<StoredConversation> {
  const keyspace = new Keyspace(shards);
  const ref = { tenant: '_', id };
  const key = (kind: 'c' | 'log' | 'ver' | 'txt' | 'mb' | 'pass' | 'ev'): string => keyspace.key(ref, kind);
  const [fields, log, versions, texts, mailbox, pass, events] = await Promise.all([
    redis.hgetall(key('c')),
    readLogTexts(redis, keyspace, ref),
    redis.hvals(key('ver')),
    redis.hkeys(key('txt')),
    redis.lrange(key('mb'), 0, -1),
    redis.hgetall(key('pass')),
    redis.xrange(key('ev'), '-', '+'),
  ]);
  const records = await Promise.all(turns.map((turn) => redis.hgetall(keyspace.turn(ref, turn))));
  return {
    id,
    fields,
    log: Object.entries(log)
      .map(([seq, text]) => decodeLogEntry(Number(seq), text, key('log')))
      .toSorted((a, b) => a.seq - b.seq),
    versions: versions.map((text) => JSON.parse(text) as Version).toSorted((a, b) => a.number - b.number),
    texts: new Set(texts),
    mailbox,
    pass,
    events: events.map(([, flat]) => pair(flat)),
    turns: new Map(turns.map((turn, index) => [turn, records[index] ?? {}])),
  };
}

function pair(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (let at = 0; at < flat.length; at += 2) fields[flat[at] as string] = flat[at + 1] as string;
  return fields;
}

/** All entries of the `ready` sets and of the sets of open passes. */
export async function readReady(redis: Redis, shards: number): Promise<string[]> {
  const keyspace = new Keyspace(shards);
  const keys = keyspace.shardNumbers().flatMap((shard) => [keyspace.ready(shard), keyspace.openPasses(shard)]);
  const sets = await Promise.all(keys.map((key) => redis.zrange(key, '0', '-1')));
  return sets.flat();
}

/** Names of the records that were set aside, each with the reason. */
export async function readQuarantined(redis: Redis, shards: number): Promise<[string, string][]> {
  const keyspace = new Keyspace(shards);
  const sets = await Promise.all(keyspace.shardNumbers().map((shard) => redis.hgetall(keyspace.quarantined(shard))));
  return sets.flatMap((set) => Object.entries(set));
}
