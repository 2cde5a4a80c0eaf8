import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import {
  choosePackable,
  isWorthPacking,
  PACK_AFTER_MS,
  type PackableLog,
  type PackedLog,
} from '../domain/log-packing.ts';
import { START_VERSION } from '../domain/version.ts';
import { ExistingKeys } from './existing-keys.ts';
import type { Keyspace } from './keys.ts';
import { decodeLogEntry } from './log.ts';
import { type LogPage, readLogScript, readPages } from './log-pages.ts';
import { namePack, PACK_BYTES, pack, readPackName, unpack } from './packs.ts';
import { answerWithin } from './redis/servers.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { decodeVersion } from './version-record.ts';

/** Each call visits one shard out of this many. No caller waits for a pack. */
const SHARE_OF_SHARDS = 32;
const ROUND_MS = 500;
const MOST_TAKEN = 4;
const RETRY_MS = 600_000;
/** ms after which a call no longer waits for a shard. A later call visits that shard again. */
const SILENT_MS = 1_000;

const PACK_ENTRIES = 1_000;
/** After packing so many bytes of entries, one call makes no further pack. */
const MOST_BYTES = 8_000_000;

export function openPackStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  const [take, inspect, readPage] = [bind(takeUnpackedScript), bind(inspectLogScript), bind(readLogScript)];
  const [write, end] = [bind(packLogScript), bind(endPackingScript)];
  const existing = new ExistingKeys(redis, keyspace.shards / SHARE_OF_SHARDS);
  // Processes that start one after another begin at different shards. Otherwise short-lived processes would never reach
  // some shards.
  let round = Math.floor(Date.now() / ROUND_MS);
  return {
    /**
     * Takes conversations whose log may be packed. A taken conversation becomes due again after 10 minutes, in case its
     * worker dies.
     */
    async takeUnpacked(): Promise<ConversationRef[]> {
      round += 1;
      const shards = keyspace.shardNumbers().filter((shard) => (shard + round) % SHARE_OF_SHARDS === 0);
      const replies = await Promise.all(
        shards.map((shard) => {
          const taken = existing.ask(keyspace.unpacked(shard)).then((exists) => (exists ? take(shard) : []));
          return answerWithin(taken, SILENT_MS);
        }),
      );
      return replies.flatMap(({ answer = [] }) => answer);
    },
    /**
     * Packs the entries that `choosePackable` names, about 8 MB at most. Each pack is first read back as a check. Then
     * one step writes the pack and removes its entries from the log, if these still have the same bytes. The
     * conversation becomes due again when there may be more to pack.
     */
    async packLog(conversation: ConversationRef): Promise<PackedLog> {
      const log = await inspect(conversation);
      let packed = NOTHING;
      const pages = readPages(readPage, conversation, log === undefined ? [] : choosePackable(log));
      for await (const entries of joinPages(pages)) {
        const made = await makePack(keyspace.key(conversation, 'log'), entries);
        // False: the log has changed, or another process packs it.
        if (!(await write(conversation, made))) return packed;
        packed = addPacked(packed, made);
        if (packed.bytes >= MOST_BYTES) break;
      }
      const [head, version] = [log?.head ?? 0, log?.version.number ?? 0];
      await end(conversation, { head, version, againMs: packed.bytes >= MOST_BYTES ? 0 : log?.idleInMs });
      return packed;
    },
  };
}

export type PackStore = ReturnType<typeof openPackStore>;

const NOTHING: PackedLog = { entries: 0, bytes: 0, packedBytes: 0 };

function addPacked(sum: PackedLog, { seqs, bytes, value }: MadePack): PackedLog {
  return {
    entries: sum.entries + seqs.length,
    bytes: sum.bytes + bytes,
    packedBytes: sum.packedBytes + value.length,
  };
}

/** Stops at an entry that the log no longer holds. */
async function* joinPages(pages: AsyncIterable<LogPage>): AsyncGenerator<ReadonlyMap<number, string>> {
  let entries = new Map<number, string>();
  let bytes = 0;
  for await (const { seqs, texts } of pages) {
    const end = texts.indexOf('');
    for (const [at, text] of (end === -1 ? texts : texts.slice(0, end)).entries()) {
      const size = Buffer.byteLength(text);
      if (entries.size > 0 && (bytes + size > PACK_BYTES || entries.size === PACK_ENTRIES)) {
        yield entries;
        entries = new Map();
        bytes = 0;
      }
      entries.set(seqs[at] ?? 0, text);
      bytes += size;
    }
    if (end !== -1) break;
  }
  if (isWorthPacking({ entries: entries.size, bytes })) yield entries;
}

interface MadePack {
  readonly seqs: readonly number[];
  readonly value: Buffer;
  readonly digest: string;
  readonly bytes: number;
}

/** @throws corrupt_record if an entry is malformed. That entry stays in the log, where a person can repair it. */
async function makePack(key: string, entries: ReadonlyMap<number, string>): Promise<MadePack> {
  for (const [seq, text] of entries) decodeLogEntry(seq, text, key);
  const seqs = [...entries.keys()];
  const value = await pack([...entries.values()]);
  const joined = (await unpack({ key, field: namePack(seqs) }, value)).join('\n');
  return { seqs, value, digest: createHash('sha1').update(joined).digest('hex'), bytes: Buffer.byteLength(joined) };
}

const takeUnpackedScript: ScriptDefinition<[shard: number], ConversationRef[]> = {
  file: 'take-unpacked',
  keys: ([shard], keyspace) => ({ unpacked: keyspace.unpacked(shard) }),
  args: () => ({ limit: MOST_TAKEN, retryMs: RETRY_MS }),
  decode: (reply) =>
    (reply as string[]).map((member) => {
      const [tenant = '', id = ''] = member.split('|');
      return { tenant, id };
    }),
};

type InspectedLog = PackableLog & {
  readonly idleInMs: number | undefined;
};

const inspectLogScript: ScriptDefinition<[conversation: ConversationRef], InspectedLog | undefined> = {
  file: 'inspect-log',
  args: () => ({ idleMs: PACK_AFTER_MS }),
  decode: (reply, [conversation], keyspace) => {
    const answer = reply as
      | []
      | [head: number, number: number, version: string, idleIn: number, inputSeq: number, names: string[]];
    if (answer.length === 0) return undefined;
    const [head, number, text, idleIn, inputSeq, names] = answer;
    const place = { key: keyspace.key(conversation, 'ver'), field: String(number) };
    return {
      head,
      version: number === START_VERSION.number ? START_VERSION : decodeVersion(place, text),
      isIdle: idleIn === 0,
      inputSeq,
      idleInMs: idleIn === 0 ? undefined : idleIn,
      packed: names.flatMap((name) => readPackName(keyspace.key(conversation, 'pk'), name)),
    };
  },
};

const packLogScript: ScriptDefinition<[conversation: ConversationRef, pack: MadePack], boolean> = {
  file: 'pack-log',
  args: ([, { seqs, value, digest }]) => ({ name: namePack(seqs), value, digest, rest: seqs }),
  decode: (reply) => reply === 'packed',
};

interface EndedPacking {
  readonly head: number;
  readonly version: number;
  /** ms until the conversation is due again. Undefined if nothing is left to pack. */
  readonly againMs: number | undefined;
}

const endPackingScript: ScriptDefinition<[conversation: ConversationRef, ended: EndedPacking], void> = {
  file: 'end-packing',
  args: ([, { head, version, againMs }]) => ({ head, version, againMs }),
  decode: () => undefined,
};
