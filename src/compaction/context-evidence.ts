import { endsSlice, type Interruptible } from '../domain/interruptible.ts';
import type { ContextItem } from '../domain/version.ts';
import { type AlikeLines, findAlikeLines } from './evidence/alike-lines.ts';
import { type Fragment, type Ledger, readLedger } from './evidence/ledger.ts';
import { valueTerms } from './evidence/use-probability.ts';

export interface ContextEvidence {
  readonly ledger: Ledger;
  readonly values: Float64Array;
  readonly alike: ReadonlyMap<number, AlikeLines>;
  /** Fragments of an item. A summary of this pass has no fragments, because its text is not read. */
  readonly fragmentsOf: (item: ContextItem) => FragmentRange;
}

export interface FragmentRange {
  readonly from: number;
  readonly to: number;
}

const NONE: FragmentRange = { from: 0, to: 0 };

/**
 * Values the terms in the logged messages of a context (evidence for what to keep). The values stay valid while a plan
 * removes or shortens items, because they describe the log.
 */
export function* readEvidence(items: readonly ContextItem[]): Interruptible<ContextEvidence> {
  const ledger = yield* readLedger(
    items.map(({ message, logged = message }) => logged),
    { isStaleWanted: false },
  );
  const values = yield* valueTerms(ledger);
  const alike = yield* findAlikeLines(ledger.fragments);
  const rangeAt = yield* findRanges(items, ledger);
  const fragmentsOf = ({ from, isFresh }: ContextItem): FragmentRange =>
    isFresh === true ? NONE : (rangeAt.get(from) ?? NONE);
  return { ledger, values, alike, fragmentsOf };
}

/** Keeps the evidence of only the last context, to save memory. Reading 10,000 messages takes about a second. */
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

/** True if the whole fragment is visible in the item, which may be clipped or an excerpt. */
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
