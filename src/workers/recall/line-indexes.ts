import { LineIndex, type LineMatches, type SearchScope } from '../../compaction/recall/line-index.ts';
import { LineMarks } from '../../compaction/recall/line-marks.ts';
import type { RecallQuery } from '../../compaction/recall/recall-query.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import { findHidden } from '../../domain/rolled-back.ts';
import { type Segment, type SeqRange, START_VERSION } from '../../domain/version.ts';
import type { ContextReader, ContextStore } from '../../store/contexts.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';

/** Limit for the indexes of all conversations of a process. 10,000 recorded messages take about 5 MB. */
const MAX_BYTES = 64 * 1_048_576;

export interface IndexedLog {
  readonly contexts: Pick<ContextStore, 'readLog' | 'readVersion' | 'listVersions'>;
  readonly conversation: ConversationRef;
  readonly state: Pick<ConversationState, 'head' | 'size'>;
}

interface OpenIndex {
  readonly index: LineIndex;
  /** Segments that the model sees. */
  readonly segments: readonly Segment[];
  /** Ranges of messages that a rollback removed from the conversation. */
  readonly hidden: readonly SeqRange[];
}

/** Marks a log entry. An entry of a later log under the same id never has the same time, turn and sizes. */
interface LogMark extends Pick<LogEntry, 'at' | 'total'> {
  readonly turn: string | undefined;
}

interface Shown {
  readonly number: number;
  readonly segments: readonly Segment[];
  readonly hidden: readonly SeqRange[];
}

interface Kept {
  index: LineIndex;
  /** Last indexed entry, which shows whether the log is still the same. */
  last?: LogMark | undefined;
  version?: Shown | undefined;
  /** Last update of the index. Parallel calls update an index one after the other. */
  work: Promise<unknown>;
}

/**
 * The indexes that `recall` searches, one for each conversation. The first search builds an index, and later searches
 * add new messages. Least recently used indexes are dropped first.
 */
export class LineIndexes {
  readonly #kept = new Map<string, Kept>();
  readonly #maxBytes: number;
  /** Buffer of the last search, which the next search reuses. */
  #marks: LineMarks | undefined;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return [...this.#kept.values()].reduce((sum, { index }) => sum + index.bytes, 0);
  }

  async search(index: LineIndex, query: RecallQuery, scope: SearchScope): Promise<LineMatches> {
    const marks = this.#marks ?? new LineMarks();
    this.#marks = undefined;
    const matches = await eventLoopShare.run(index.search(query, scope, marks));
    this.#marks = marks;
    return matches;
  }

  /**
   * Updates the index of a conversation to the end of its log.
   * @throws the signal's reason once it is aborted. The messages indexed until then are kept.
   */
  async open(log: IndexedLog, signal: AbortSignal): Promise<OpenIndex> {
    const kept = this.#use(log.conversation);
    const extended = kept.work.then(
      () => this.#extend(kept, log, signal),
      () => this.#extend(kept, log, signal),
    );
    kept.work = extended;
    await extended;
    this.#dropUnused(kept);
    return { index: kept.index, ...(await this.#readShown(kept, log)) };
  }

  #use({ tenant, id }: ConversationRef): Kept {
    const key = `${tenant}/${id}`;
    const kept = this.#kept.get(key) ?? { index: new LineIndex(), work: Promise.resolve() };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  async #extend(kept: Kept, log: IndexedLog, signal: AbortSignal): Promise<void> {
    const from = Math.max(1, kept.index.head);
    // If the last entry has changed, the log belongs to a conversation that was erased and created again.
    let known = kept.last;
    for await (const entries of readRange(log, { from, to: Math.max(from, log.state.head) }, signal)) {
      if (known !== undefined && !isSame(known, entries[0])) {
        Object.assign(kept, { index: new LineIndex(), last: undefined, version: undefined });
        return await this.#extend(kept, log, signal);
      }
      const fresh = known === undefined ? entries : entries.slice(1);
      known = undefined;
      const last = fresh.at(-1);
      if (last === undefined) continue;
      // If the log is too large for one index, a new index starts after its last message.
      if (2 * kept.index.bytes > this.#maxBytes) kept.index = new LineIndex(kept.index.head + 1);
      await eventLoopShare.run(kept.index.add(fresh));
      kept.last = { at: last.at, total: last.total, turn: last.turn };
    }
  }

  /** Ranges of messages that a rollback hides. Needs no index. */
  async hidden(log: IndexedLog): Promise<readonly SeqRange[]> {
    return (await this.#readShown(this.#use(log.conversation), log)).hidden;
  }

  /** Reads once for each version what the model sees. For a long conversation, that takes milliseconds. */
  async #readShown(kept: Kept, { contexts, conversation, state }: IndexedLog): Promise<Shown> {
    const { version: number } = state.size;
    if (kept.version?.number === number) return kept.version;
    const { segments } = (await contexts.readVersion(conversation, number)) ?? START_VERSION;
    const versions = number === START_VERSION.number ? [] : await contexts.listVersions(conversation);
    kept.version = { number, segments, hidden: findHidden(versions, segments) };
    return kept.version;
  }

  #dropUnused(used: Kept): void {
    let { bytes } = this;
    for (const [key, kept] of this.#kept) {
      if (bytes <= this.#maxBytes) return;
      if (kept === used) continue;
      this.#kept.delete(key);
      bytes -= kept.index.bytes;
    }
  }
}

function isSame(known: LogMark, entry: LogEntry | undefined): boolean {
  const { at, turn, total } = known;
  return (
    entry?.at === at && entry.turn === turn && entry.total.tokens === total.tokens && entry.total.bytes === total.bytes
  );
}

/** Bytes of one batch. Parsing them takes a few milliseconds. A single message may be twice as large. */
const BATCH_BYTES = 524_288;

/** Entries of the first read, because their size is unknown. Each further read may have four times as many. */
const FIRST_ENTRIES = 4;
const GROWTH = 4;
const MAX_ENTRIES = 512;

export interface LogPlace {
  readonly contexts: Pick<ContextReader, 'readLog'>;
  readonly conversation: ConversationRef;
}

/** Yields log entries in batches, in ascending order, up to the first missing entry. */
export async function* readRange(place: LogPlace, range: SeqRange, signal: AbortSignal): AsyncGenerator<LogEntry[]> {
  let size = FIRST_ENTRIES;
  for (let { from } = range; from <= range.to; ) {
    signal.throwIfAborted();
    const to = Math.min(range.to, from + size - 1);
    const entries = await place.contexts.readLog(place.conversation, [{ from, to }]);
    yield entries;
    if (entries.length < to - from + 1) return;
    from = to + 1;
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const fitting = Math.floor((entries.length * BATCH_BYTES) / Math.max(1, bytes));
    size = Math.max(1, Math.min(fitting, size * GROWTH, MAX_ENTRIES));
  }
}

/**
 * Reads log entries by seq, and skips numbers without an entry.
 * @param seqs distinct
 * @param bytesOf size of an entry, as far as the size is known
 */
export async function* readEntries(
  { contexts, conversation }: LogPlace,
  seqs: readonly number[],
  { signal, bytesOf }: { readonly signal: AbortSignal; readonly bytesOf: (seq: number) => number },
): AsyncGenerator<LogEntry[]> {
  for (let at = 0; at < seqs.length; ) {
    const batch: SeqRange[] = [];
    for (let bytes = 0; at < seqs.length && batch.length < MAX_ENTRIES; at += 1) {
      const seq = seqs[at] as number;
      bytes += bytesOf(seq);
      if (bytes > BATCH_BYTES && batch.length > 0) break;
      batch.push({ from: seq, to: seq });
    }
    signal.throwIfAborted();
    yield await contexts.readLog(conversation, batch);
  }
}
