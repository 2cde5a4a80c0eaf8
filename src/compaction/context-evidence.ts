import { endsSlice, type Interruptible } from '../domain/interruptible.ts';
import type { ContextItem } from '../domain/version.ts';
import { type Fragment, type Ledger, readLedger } from './evidence/ledger.ts';
import { valueTermsInSlices } from './evidence/use-probability.ts';

/** Words of the messages of a context, and how likely the agent uses each of them soon. */
export interface ContextEvidence {
  readonly ledger: Ledger;
  /** Value of each term, by its index in the ledger. */
  readonly values: Float64Array;
  /** Fragments of an item. A summary of this pass has none, because its text is not read. */
  readonly fragmentsOf: (item: ContextItem) => FragmentRange;
}

/** Indexes of neighbouring fragments in the ledger. */
export interface FragmentRange {
  readonly from: number;
  /** Index after the last fragment. */
  readonly to: number;
}

const NONE: FragmentRange = { from: 0, to: 0 };

/** Reads a context once. The evidence stays valid while items are removed or shortened, because it is about the log. */
export function* readEvidence(items: readonly ContextItem[]): Interruptible<ContextEvidence> {
  const ledger = yield* readLedger(
    items.map(({ message, logged = message }) => logged),
    { isStaleWanted: false },
  );
  const values = yield* valueTermsInSlices(ledger);
  yield;
  const rangeAt = yield* findRanges(items, ledger);
  const fragmentsOf = ({ from, isFresh }: ContextItem): FragmentRange =>
    isFresh === true ? NONE : (rangeAt.get(from) ?? NONE);
  return { ledger, values, fragmentsOf };
}

/**
 * Makes a function like `readEvidence` that keeps the evidence of the last context, as long as the caller keeps the
 * context. Reading 10,000 messages takes about a second, and their evidence takes more memory than they do, so only one
 * is kept.
 */
export function keepLastEvidence(): (items: readonly ContextItem[]) => Interruptible<ContextEvidence> {
  let last = new WeakMap<readonly ContextItem[], ContextEvidence>();
  return function* readKept(items) {
    const known = last.get(items);
    if (known !== undefined) return known;
    const evidence = yield* readEvidence(items);
    last = new WeakMap([[items, evidence]]);
    return evidence;
  };
}

/** Finds the fragments of each item that has text, by its first seq. */
function* findRanges(items: readonly ContextItem[], { fragments }: Ledger): Interruptible<Map<number, FragmentRange>> {
  const ranges = new Map<number, FragmentRange>();
  for (let from = 0, to = 0; from < fragments.length; from = to) {
    const message = (fragments[from] as Fragment).message;
    while (fragments[to]?.message === message) to += 1;
    ranges.set((items[message] as ContextItem).from, { from, to });
    if (endsSlice(ranges.size)) yield;
  }
  return ranges;
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
