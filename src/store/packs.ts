import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { SeqRange } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { callStore, corruptRecord, type Place } from './records.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Maximum bytes of a pack's entries. Larger packs are hardly smaller in Redis, but take longer to read one entry from. */
export const PACK_BYTES = 131_072;
/** Maximum bytes of an unpacked pack. A damaged pack must not fill the memory. */
const UNPACKED_BYTES = 64 * 1_048_576;
/** Number of packs whose entries a reader keeps. A context shows old messages in the order of the log. */
const KEPT_PACKS = 2;

/**
 * Compresses log entries: a JSON array of the entries, as gzip. gzip has a checksum and is known to every tool. On recorded
 * agent conversations, brotli and zstd at speeds like that of gzip came within 4 % of its size.
 */
export async function pack(texts: readonly string[]): Promise<Buffer> {
  return await compress(JSON.stringify(texts));
}

/** @throws corrupt_record if the value is not a pack */
export async function unpack(place: Place, value: Buffer): Promise<string[]> {
  try {
    const texts: unknown = JSON.parse((await decompress(value, { maxOutputLength: UNPACKED_BYTES })).toString('utf8'));
    if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
    throw new Error('a pack must be a JSON array of strings');
  } catch (error) {
    throw corruptRecord(place.key, place.field, 'the pack of log entries cannot be read', error);
  }
}

/** Names a pack by the seqs of its entries: `2-9,11-30`. */
export function namePack(seqs: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const seq of seqs) {
    const last = ranges.at(-1);
    if (last?.to === seq - 1) last.to = seq;
    else ranges.push({ from: seq, to: seq });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

const NAME = /^\d{1,10}(?:-\d{1,10})?(?:,\d{1,10}(?:-\d{1,10})?)*$/;

/** @throws corrupt_record if the field of the hash `pk` does not name seqs */
export function readPackName(key: string, name: string): SeqRange[] {
  if (!NAME.test(name)) throw corruptRecord(key, name, 'the name of a pack must list numbers of messages');
  return name.split(',').map((range) => {
    const [from, to = from] = range.split('-').map(Number);
    return { from: from ?? 0, to: to ?? 0 };
  });
}

/**
 * Finds packed log entries of a conversation, for one read of its log. The names of the packs are read once, and again if an
 * entry is in none of them, because it may have been packed meanwhile. A pack itself never changes.
 */
export class PackReader {
  readonly #redis: Redis;
  readonly #key: string;
  #ranges: ReadonlyMap<string, readonly SeqRange[]> | undefined;
  #opened: readonly ReadonlyMap<number, string>[] = [];

  constructor(redis: Redis, keyspace: Keyspace, conversation: ConversationRef) {
    this.#redis = redis;
    this.#key = keyspace.key(conversation, 'pk');
  }

  /** @returns undefined if the entry is in no pack */
  async find(seq: number): Promise<string | undefined> {
    const opened = this.#opened.find((entries) => entries.has(seq)) ?? (await this.#openPack(seq));
    return opened?.get(seq);
  }

  /** Reads the entries of one pack from `seq` on, up to the first gap. Returns none if the entry is in no pack. */
  async readFrom(seq: number): Promise<string[]> {
    const opened = await this.#openPack(seq);
    const texts: string[] = [];
    for (let text = opened?.get(seq); text !== undefined; text = opened?.get(seq + texts.length)) texts.push(text);
    return texts;
  }

  async #openPack(seq: number): Promise<ReadonlyMap<number, string> | undefined> {
    const name = this.#locate(seq) ?? (await this.#readNames(), this.#locate(seq));
    if (name === undefined) return undefined;
    const value = await callStore(() => this.#redis.hgetBuffer(this.#key, name));
    if (value === null) return undefined; // the conversation was erased meanwhile
    const place = { key: this.#key, field: name };
    const [seqs, texts] = [listSeqs(this.#ranges?.get(name) ?? []), await unpack(place, value)];
    if (seqs.length !== texts.length)
      throw corruptRecord(place.key, name, 'the pack has other entries than its name says');
    const entries = new Map(seqs.map((each, at) => [each, texts[at] ?? '']));
    this.#opened = [entries, ...this.#opened].slice(0, KEPT_PACKS);
    return entries;
  }

  #locate(seq: number): string | undefined {
    for (const [name, ranges] of this.#ranges ?? []) {
      if (ranges.some(({ from, to }) => from <= seq && seq <= to)) return name;
    }
    return undefined;
  }

  async #readNames(): Promise<void> {
    const names = await callStore(() => this.#redis.hkeys(this.#key));
    this.#ranges = new Map(names.map((name) => [name, readPackName(this.#key, name)]));
  }
}

function listSeqs(ranges: readonly SeqRange[]): number[] {
  return ranges.flatMap(({ from, to }) => Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at));
}
