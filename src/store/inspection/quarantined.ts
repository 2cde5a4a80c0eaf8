import type { Redis } from 'ioredis';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript, type ScriptDefinition } from '../script.ts';

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
export async function releaseQuarantined(redis: Redis, keyspace: Keyspace, release: Release): Promise<boolean> {
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
