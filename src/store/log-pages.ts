import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { LogEntry } from '../domain/message.ts';
import { checkRanges } from '../domain/seq-ranges.ts';
import type { SeqRange } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { decodeLogEntry } from './log.ts';
import { PackReader } from './packs.ts';
import { callStore } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/** Most entries of one page. A reply of 10,000 entries would block Redis. */
const PAGE_ENTRIES = 500;
/** Most bytes of one page. A single entry may have 1 MiB. */
const PAGE_BYTES = 4_000_000;

/**
 * Reads ranges of the log. Stops at the first missing entry, because a range from a corrupt record may end far after
 * the log.
 */
export function bindReadLog(
  redis: Redis,
  keyspace: Keyspace,
): (conversation: ConversationRef, ranges: readonly SeqRange[], maxBytes?: number) => Promise<LogEntry[]> {
  const readPage = scriptBinder(redis, keyspace)(readLogScript);
  return async (conversation, ranges, maxBytes = Number.POSITIVE_INFINITY) => {
    checkRanges(ranges);
    const [key, packs] = [keyspace.key(conversation, 'log'), keyspace.key(conversation, 'pk')];
    const findPacked = findWith(readPage, new PackReader(redis, keyspace, conversation), conversation);
    const entries: LogEntry[] = [];
    let left = maxBytes;
    for await (const { seqs, texts } of readPages(readPage, conversation, ranges)) {
      const packed = await findPacked(
        seqs.filter((_, at) => texts[at] === ''),
        left,
      );
      for (const [at, text] of texts.entries()) {
        const seq = seqs[at] ?? 0;
        const found = text === '' ? packed.get(seq) : text;
        if (found === undefined) return entries;
        const entry = decodeLogEntry(seq, found, text === '' ? packs : key);
        entries.push(entry);
        left -= entry.bytes;
        if (left <= 0) return entries;
      }
    }
    return entries;
  };
}

type FindPacked = (seqs: readonly number[], maxBytes: number) => Promise<ReadonlyMap<number, string>>;

/**
 * Finds entries in the log, then in packs. After a failover, the master may lack the newest pack. Then its log still
 * holds the entries.
 */
function findWith(readPage: ReadPage, packs: PackReader, conversation: ConversationRef): FindPacked {
  return async (seqs, maxBytes) => {
    const { found: packed, isWhole } = await packs.find(seqs, maxBytes);
    const left = seqs.filter((seq) => !packed.has(seq));
    if (left.length === 0 || !isWhole) return packed;
    const texts = await readPage(conversation, left);
    return new Map([...packed, ...texts.flatMap((text, at) => (text === '' ? [] : [[left[at] ?? 0, text] as const]))]);
  };
}

/** A command costs less than a script, and most entries are not packed. */
export function bindReadEntry(
  redis: Redis,
  keyspace: Keyspace,
): (conversation: ConversationRef, seq: number) => Promise<LogEntry | undefined> {
  const readPage = scriptBinder(redis, keyspace)(readLogScript);
  return async (conversation, seq) => {
    const [key, packs] = [keyspace.key(conversation, 'log'), keyspace.key(conversation, 'pk')];
    const text = await callStore(() => redis.hget(key, String(seq)));
    if (text !== null) return decodeLogEntry(seq, text, key);
    const findPacked = findWith(readPage, new PackReader(redis, keyspace, conversation), conversation);
    const found = (await findPacked([seq], Number.POSITIVE_INFINITY)).get(seq);
    return found === undefined ? undefined : decodeLogEntry(seq, found, packs);
  };
}

export interface LogPage {
  readonly seqs: readonly number[];
  /** Entries as texts, '' for an entry that the log does not hold. There may be fewer entries than seqs. */
  readonly texts: readonly string[];
}

type ReadPage = (conversation: ConversationRef, seqs: readonly number[]) => Promise<readonly string[]>;

export async function* readPages(
  readPage: ReadPage,
  conversation: ConversationRef,
  ranges: readonly SeqRange[],
): AsyncGenerator<LogPage> {
  const left = new SeqCursor(ranges);
  for (let seqs = left.peek(PAGE_ENTRIES); seqs.length > 0; seqs = left.peek(PAGE_ENTRIES)) {
    const texts = await readPage(conversation, seqs);
    yield { seqs, texts };
    left.skip(texts.length);
  }
}

export const readLogScript: ScriptDefinition<[conversation: ConversationRef, seqs: readonly number[]], string[]> = {
  file: 'read-log',
  keys: ([conversation], keyspace) => ({ log: keyspace.key(conversation, 'log') }),
  args: ([, seqs]) => ({ maxBytes: PAGE_BYTES, rest: seqs }),
  decode: (reply) => reply as string[],
};

/** Yields the seqs of ranges. Lists no more seqs than requested: a range from a corrupt record may end at 9e15. */
class SeqCursor {
  readonly #ranges: readonly SeqRange[];
  #range = 0;
  #done = 0;

  constructor(ranges: readonly SeqRange[]) {
    this.#ranges = ranges.filter(({ from, to }) => from <= to);
  }

  peek(count: number): number[] {
    const seqs: number[] = [];
    for (let at = this.#range, done = this.#done; at < this.#ranges.length && seqs.length < count; at += 1, done = 0) {
      const { from, to } = this.#ranges[at] as SeqRange;
      for (let seq = from + done; seq <= to && seqs.length < count; seq += 1) seqs.push(seq);
    }
    return seqs;
  }

  skip(count: number): void {
    this.#done += count;
    for (let size = this.#size(); size !== undefined && this.#done >= size; size = this.#size()) {
      this.#done -= size;
      this.#range += 1;
    }
  }

  /** Number of seqs in the current range. Undefined after the last range. */
  #size(): number | undefined {
    const range = this.#ranges[this.#range];
    return range && range.to - range.from + 1;
  }
}
