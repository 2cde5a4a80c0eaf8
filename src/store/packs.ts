/**
 * Old messages of a log are packed: up to 32 kB of entries become one gzip of a JSON array. It is a field of the hash
 * `pk:<id>`, whose name lists the seqs. Each read of a log finds them here, so callers see no difference. On recorded
 * conversations, packs and the rest of the log took 0.17 to 0.28 of the memory that the log took
 * (docs/explanation/performance.md).
 *
 * Two alternatives were rejected. Packs of 128 kB took 0.15 to 0.27 of the memory, but a read of one message unpacks a
 * whole pack. At speeds like that of gzip, brotli and zstd came within 4 % of its size. Every tool reads gzip, and gzip
 * has a checksum.
 *
 * `pack-store.ts` decides which entries are due, and swaps them for a pack in one step. `PackReader` finds packed
 * entries for one read of a log.
 */

import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import { readJsonText, STORED_JSON_BOUNDS } from '../domain/json-text.ts';
import { joinRanges } from '../domain/seq-ranges.ts';
import type { SeqRange } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { callStore, corruptRecord, MAX_SEQ, type Place } from './records.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/** Most bytes of the entries of a pack. A single entry may have more. */
export const PACK_BYTES = 32_768;
/** Most bytes of an unpacked pack, because a damaged pack must not fill the memory. */
const UNPACKED_BYTES = 64 * 1_048_576;
const PACKS_AT_ONCE = 16;

export async function pack(texts: readonly string[]): Promise<Buffer> {
  return await compress(JSON.stringify(texts));
}

export async function unpack(place: Place, value: Buffer): Promise<string[]> {
  try {
    const unpacked = await decompress(value, { maxOutputLength: UNPACKED_BYTES });
    const texts = readJsonText(unpacked.toString('utf8'), STORED_JSON_BOUNDS);
    if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
    throw new Error('a pack of log entries must be a JSON array of strings');
  } catch (error) {
    throw corruptRecord(place.key, place.field, 'the pack of log entries cannot be read', error);
  }
}

export function namePack(seqs: readonly number[]): string {
  const ranges = joinRanges(seqs.map((seq) => ({ from: seq, to: seq })));
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

const NAME = /^\d{1,10}(?:-\d{1,10})?(?:,\d{1,10}(?:-\d{1,10})?)*$/;

/** @throws corrupt_record if the field of `pk` does not name seqs, as `2-9,11-30` does */
export function readPackName(key: string, name: string): SeqRange[] {
  const ranges = NAME.test(name) ? name.split(',').map(readRange) : [];
  const isValid = ranges.length > 0 && ranges.every(({ from, to }) => from <= to && to <= MAX_SEQ);
  if (!isValid) throw corruptRecord(key, name, 'the name of a pack must list numbers of messages');
  return ranges;
}

function readRange(text: string): SeqRange {
  const [from = 0, to = from] = text.split('-').map(Number);
  return { from, to };
}

interface FoundEntries {
  readonly found: ReadonlyMap<number, string>;
  readonly isWhole: boolean;
}

/**
 * Finds packed entries for one read of a log. A pack never changes, but the list of packs grows. So the names are read
 * again if an entry is not found.
 */
export class PackReader {
  readonly #redis: Redis;
  readonly #key: string;
  #ranges: ReadonlyMap<string, readonly SeqRange[]> = new Map();
  /** The pack that was read last, because the next page of a log often begins in that pack. */
  #last: { readonly name: string; readonly entries: ReadonlyMap<number, string> } | undefined;

  constructor(redis: Redis, keyspace: Keyspace, conversation: ConversationRef) {
    this.#redis = redis;
    this.#key = keyspace.key(conversation, 'pk');
  }

  /** Each pack is read once. After `maxBytes` of entries, later packs are left out. */
  async find(seqs: readonly number[], maxBytes: number): Promise<FoundEntries> {
    const found = new Map<number, string>();
    if (seqs.length === 0) return { found, isWhole: true };
    let located = this.#locate(seqs);
    if (located.left > 0) {
      await this.#readNames();
      located = this.#locate(seqs);
    }
    const wanted = [...located.byName].toSorted(([, [a = 0]], [, [b = 0]]) => a - b);
    let left = maxBytes;
    for (let at = 0; at < wanted.length; at += PACKS_AT_ONCE) {
      if (left <= 0) return { found, isWhole: false };
      const batch = wanted.slice(at, at + PACKS_AT_ONCE);
      const packs = await Promise.all(batch.map(([name]) => this.#read(name)));
      for (const [index, [, those]] of batch.entries()) {
        for (const seq of those) {
          const text = packs[index]?.get(seq);
          if (text === undefined) continue;
          found.set(seq, text);
          left -= text.length;
        }
      }
    }
    return { found, isWhole: true };
  }

  /** Finds the pack of each seq. `left`: number of seqs that are in no known pack. */
  #locate(seqs: readonly number[]): { readonly byName: ReadonlyMap<string, readonly number[]>; readonly left: number } {
    let left = seqs;
    const byName = new Map<string, readonly number[]>();
    for (const [name, ranges] of this.#ranges) {
      if (left.length === 0) break;
      const isIn = (seq: number): boolean => ranges.some(({ from, to }) => from <= seq && seq <= to);
      const those = left.filter(isIn);
      if (those.length === 0) continue;
      byName.set(name, those);
      left = left.filter((seq) => !isIn(seq));
    }
    return { byName, left: left.length };
  }

  async #readNames(): Promise<void> {
    const names = await callStore(() => this.#redis.hkeys(this.#key));
    this.#ranges = new Map(names.map((name) => [name, readPackName(this.#key, name)]));
  }

  async #read(name: string): Promise<ReadonlyMap<number, string>> {
    if (this.#last?.name === name) return this.#last.entries;
    const value = await callStore(() => this.#redis.hgetBuffer(this.#key, name));
    if (value === null) return new Map(); // an erase removed the pack, or a failover lost it
    const texts = await unpack({ key: this.#key, field: name }, value);
    const ranges = this.#ranges.get(name) ?? [];
    if (ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0) !== texts.length)
      throw corruptRecord(this.#key, name, 'the pack has other entries than its name says');
    const seqs = ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
    const entries = new Map(seqs.map((seq, at) => [seq, texts[at] ?? '']));
    this.#last = { name, entries };
    return entries;
  }
}
