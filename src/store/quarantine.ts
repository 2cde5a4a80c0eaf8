import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { QuarantineEntry } from '../domain/quarantine.ts';
import { type DueEntry, memberOf, setOf } from './due-work.ts';
import type { Keyspace } from './keys.ts';
import { callStore, pairsOf } from './records.ts';
import type { ScriptDefinition } from './script.ts';

export const quarantineScript: ScriptDefinition<[entry: DueEntry, why: string], boolean> = {
  file: 'quarantine',
  keys: ([entry], keyspace) => ({ set: keyspace[setOf(entry)](keyspace.shardOf(entry.conversation)) }),
  args: ([entry, why], keyspace) => {
    const shard = keyspace.shardPrefix(keyspace.shardOf(entry.conversation));
    return { shard, setName: setOf(entry), member: memberOf(entry), why };
  },
  decode: (reply) => reply === 1,
};

export function bindQuarantine(run: (entry: DueEntry, why: string) => Promise<boolean>, keyspace: Keyspace) {
  return async (entry: DueEntry, why: string): Promise<QuarantineEntry | undefined> => {
    const shard = keyspace.shardOf(entry.conversation);
    return (await run(entry, why)) ? { shard, set: setOf(entry), name: memberOf(entry), why } : undefined;
  };
}

export interface UnreadableRecord {
  readonly key: string;
  readonly why: string;
  readonly wakeTurn: string;
}

/** @returns undefined if the key does not exist, or if workers cannot create its record again */
export const quarantineRecordScript: ScriptDefinition<
  [conversation: ConversationRef, request: UnreadableRecord],
  { readonly setAside: QuarantineEntry; readonly needsWake: boolean } | undefined
> = {
  file: 'set-record-aside',
  args: ([, { key, why, wakeTurn: wake }]) => ({ key, why, wake }),
  decode: (reply, [conversation, { key }], keyspace) => {
    const answer = reply as ['kept'] | ['set_aside', string, number];
    if (answer[0] === 'kept') return undefined;
    const [, why, needsWake] = answer;
    const setAside: QuarantineEntry = { shard: keyspace.shardOf(conversation), set: 'key', name: key, why };
    return { setAside, needsWake: needsWake === 1 };
  },
};

export interface QuarantinedRecord {
  readonly shard: number;
  /** The quarantined record: a Redis set and its member, or `key` and the name of a key. */
  readonly name: string;
  /** Time of the quarantine in ms since epoch. Undefined if the note about it is corrupt. */
  readonly at: number | undefined;
  readonly why: string;
}

const MOST_RECORDS = 100;

export async function listQuarantined(redis: Redis, keyspace: Keyspace): Promise<QuarantinedRecord[]> {
  const readShard = async (shard: number): Promise<QuarantinedRecord[]> => {
    const key = keyspace.quarantined(shard);
    const [, flat] = await callStore(() => redis.hscan(key, '0', 'COUNT', MOST_RECORDS));
    return pairsOf(flat).map(([name, note]) => readNote(shard, name, note));
  };
  return (await Promise.all(keyspace.shardNumbers().map(readShard))).flat();
}

/** Form of the note: `<time> <score> <reason>`. */
function readNote(shard: number, name: string, note: string): QuarantinedRecord {
  const [, at, why] = /^(\d{1,15}) \S+ (.*)$/s.exec(note) ?? [];
  return { shard, name, at: at === undefined ? undefined : Number(at), why: why ?? note };
}

export interface Release {
  readonly shard: number;
  readonly name: string;
  /** True: the record returns to its set and is due now. False: the record is dropped. */
  readonly isRestored: boolean;
}

export const releaseQuarantinedScript: ScriptDefinition<[Release], boolean> = {
  file: 'release-quarantined',
  keys: ([{ shard }], keyspace) => ({ quarantined: keyspace.quarantined(shard) }),
  args: ([{ shard, name, isRestored }], keyspace) => ({
    shard: keyspace.shardPrefix(shard),
    field: name,
    isBack: isRestored,
  }),
  decode: (reply) => reply === 1,
};
