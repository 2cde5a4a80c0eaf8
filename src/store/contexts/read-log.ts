import type { Redis } from 'ioredis';
import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SeqRange } from '../../domain/version.ts';
import type { Keyspace } from '../keys.ts';
import { decodeLogEntry } from '../log-entry.ts';
import { bindScript, type ScriptDefinition } from '../script.ts';

/** Of one page: a reply of 10,000 entries would hold every other command of Redis behind it. */
const PAGE_ENTRIES = 500;
/** An entry may have 1 MiB. */
const PAGE_BYTES = 4_000_000;

interface PageRequest {
  readonly conversation: ConversationRef;
  readonly seqs: readonly number[];
}

export type ReadLog = (conversation: ConversationRef, ranges: readonly SeqRange[]) => Promise<LogEntry[]>;

/**
 * Reads the entries of the ranges page by page, in their order. A log has no gaps, so the first seq without an entry is the
 * end: whatever a range says, no more is read than there is.
 */
export function bindReadLog(redis: Redis, keyspace: Keyspace): ReadLog {
  const readPage = bindScript(redis, pageScript(keyspace));
  return async (conversation, ranges) => {
    const entries: LogEntry[] = [];
    const left = new SeqCursor(ranges);
    for (let seqs = left.peek(PAGE_ENTRIES); seqs.length > 0; seqs = left.peek(PAGE_ENTRIES)) {
      const page = await readPage({ conversation, seqs });
      entries.push(...page);
      if (page.length === 0) break;
      left.skip(page.length);
    }
    return entries;
  };
}

function pageScript(keyspace: Keyspace): ScriptDefinition<PageRequest, LogEntry[]> {
  return {
    file: 'read-log',
    keys: ({ conversation }) => [keyspace.key(conversation, 'log')],
    args: ({ seqs }) => [PAGE_BYTES, ...seqs],
    decode: (reply, { conversation, seqs }) => {
      const key = keyspace.key(conversation, 'log');
      return (reply as string[]).map((text, at) => decodeLogEntry(seqs[at] ?? 0, text, key));
    },
  };
}

/** A place in some ranges. It never lists more seqs than it is asked for: a corrupt range may end at 9e15. */
class SeqCursor {
  readonly #ranges: readonly SeqRange[];
  #range = 0;
  /** seqs of that range that are done */
  #done = 0;

  constructor(ranges: readonly SeqRange[]) {
    this.#ranges = ranges.filter(({ from, to }) => from <= to);
  }

  /** The next seqs, at most so many. */
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

  /** Of the range that it is in. */
  #size(): number | undefined {
    const range = this.#ranges[this.#range];
    return range && range.to - range.from + 1;
  }
}
