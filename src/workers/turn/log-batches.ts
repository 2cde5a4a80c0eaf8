import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { SeqRange } from '../../domain/version.ts';
import type { ContextReader } from '../../store/contexts.ts';

/**
 * Approximate bytes of one read of the log. Parsing that many bytes takes a few milliseconds. A single message may be
 * twice as large.
 */
const BATCH_BYTES = 524_288;

/**
 * Number of log entries in the first read, when the size of entries is not known. Each further read may have four times
 * as many.
 */
const FIRST_ENTRIES = 4;
const GROWTH = 4;
const MAX_ENTRIES = 512;

export interface LogPlace {
  readonly contexts: Pick<ContextReader, 'readLog'>;
  readonly conversation: ConversationRef;
}

/** Reads the log entries of a range in ascending order, in batches of limited size. Stops at the first missing entry. */
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
 * Reads single log entries, in batches of limited size. Skips numbers without an entry.
 * @param seqs distinct numbers of entries
 * @param bytesOf size of an entry, as far as it is known
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
