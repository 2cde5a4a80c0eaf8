import type { ConversationRef } from '../../domain/ids.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';

/** What one read aims at: so much is parsed in about a millisecond. A message may hold four times as much. */
const BATCH_BYTES = 262_144;

/** The first read knows nothing of how large entries are; each further one may be twice as many. */
const FIRST_ENTRIES = 4;
const MOST_ENTRIES = 128;

export interface LogPlace {
  readonly contexts: Pick<ContextReader, 'readLog'>;
  readonly conversation: ConversationRef;
}

/**
 * Entries of a log in the order of the seqs, a bounded number at a time: neither a long log nor large messages are held at
 * once. Seqs that no entry has are left out.
 */
export async function* readBatches(
  { contexts, conversation }: LogPlace,
  seqs: Iterable<number>,
  signal: AbortSignal,
): AsyncGenerator<readonly LogEntry[]> {
  let size = FIRST_ENTRIES;
  for (const batch of takeBatches(seqs, () => size)) {
    signal.throwIfAborted();
    const entries = await contexts.readLog(
      conversation,
      batch.map((seq) => ({ from: seq, to: seq })),
    );
    const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
    yield batch.flatMap((seq) => bySeq.get(seq) ?? []);
    const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const fitting = Math.floor((size * BATCH_BYTES) / Math.max(1, bytes));
    size = Math.max(1, Math.min(fitting, size * 2, MOST_ENTRIES));
  }
}

/** Seqs from the first to the last, inclusive. */
export function* countSeqs(from: number, to: number): Generator<number> {
  for (let seq = from; seq <= to; seq += 1) yield seq;
}

function* takeBatches(seqs: Iterable<number>, size: () => number): Generator<readonly number[]> {
  let batch: number[] = [];
  for (const seq of seqs) {
    batch.push(seq);
    if (batch.length < size()) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
