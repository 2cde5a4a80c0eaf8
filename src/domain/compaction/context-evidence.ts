import type { ContextItem } from '../context.ts';
import { type Fragment, type Ledger, readLedger } from '../evidence/ledger.ts';
import { valueTermsInSlices } from '../evidence/use-probability.ts';
import type { Sliced } from '../sliced.ts';

/** Words of the messages of a context, and how likely the agent uses each of them soon. */
export interface ContextEvidence {
  readonly ledger: Ledger;
  /** Value of each term, by its index in the ledger. */
  readonly values: Float64Array;
  /** Indexes of the fragments of an item, ascending. A summary of this pass has none, because its text is not read. */
  readonly fragmentsOf: (item: ContextItem) => readonly number[];
}

const NONE: readonly number[] = [];

/** Reads a context once. The evidence stays valid while items are removed or shortened, because it is about the log. */
export function* readEvidence(items: readonly ContextItem[]): Sliced<ContextEvidence> {
  const ledger = yield* readLedger(items.map(({ message, logged = message }) => logged));
  const values = yield* valueTermsInSlices(ledger);
  yield;
  const byMessage: number[][] = items.map(() => []);
  for (const [index, { message }] of ledger.fragments.entries()) byMessage[message]?.push(index);
  yield;
  const messageAt = new Map(items.map(({ from }, message) => [from, message]));
  const fragmentsOf = ({ from, isFresh }: ContextItem): readonly number[] => {
    const message = isFresh === true ? undefined : messageAt.get(from);
    return message === undefined ? NONE : (byMessage[message] ?? NONE);
  };
  return { ledger, values, fragmentsOf };
}

/** Checks whether an item shows a fragment of its message, or of its message before it was shortened. */
export function isShown({ segment, logged }: ContextItem, { part, start, end }: Fragment): boolean {
  switch (segment?.kind) {
    case 'masked':
      return false;
    case 'excerpt':
      return segment.kept.some(([from, to]) => from <= start && end <= to);
    case 'clipped': {
      const chars = part === 'call' ? 0 : (logged?.content.length ?? 0);
      return end <= segment.keepChars / 2 || start >= chars - segment.keepChars / 2;
    }
    default:
      return true;
  }
}
