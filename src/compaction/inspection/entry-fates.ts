import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { findFirst } from '../../domain/seq-ranges.ts';
import type { Segment, SeqRange, Version } from '../../domain/version.ts';
import { nameSegment } from '../segments.ts';
import type { EntryState } from './names.ts';

export interface EntryFate extends SeqRange {
  readonly state: Exclude<EntryState, 'live'>;
  /** Oldest kept version that shows the range in this way. */
  readonly by: number;
  /** Key of a summary, note of a mask, length of a clip, or ranges of an excerpt. '' for other ranges. */
  readonly shown: string;
}

/** Lists the kept ancestors of a version, oldest first, and the version itself. */
export function traceAncestors(kept: readonly Version[], version: Version): Version[] {
  const byNumber = new Map(kept.map((one) => [one.number, one]));
  const chain = [version];
  for (let at = 0; at < chain.length; at += 1) {
    const { number, parent } = chain[at] as Version;
    // A parent is always older. This check prevents an endless loop over a corrupt record.
    const older = parent === null || parent >= number ? undefined : byNumber.get(parent);
    if (older !== undefined) chain.push(older);
  }
  return chain.toReversed();
}

/**
 * Traces how each range got its present form. If the parent already shows a range in the same way, an older version
 * made the change.
 * @param chain a version with its kept ancestors, oldest first
 * @returns ascending ranges. All other messages are shown as in the log
 */
export function* traceFates(chain: readonly Version[]): Interruptible<EntryFate[]> {
  let fates: EntryFate[] = [];
  for (const version of chain) fates = yield* addVersion(fates, version);
  return fates;
}

function* addVersion(before: readonly EntryFate[], { number, segments }: Version): Interruptible<EntryFate[]> {
  const fates: EntryFate[] = [];
  let position = 0;
  for (const [index, segment] of segments.entries()) {
    if (endsSlice(index)) yield;
    const { from, to } = segment;
    const state = stateOf(segment);
    if (state === 'live') continue;
    const shown = nameSegment(segment);
    if (segment.kind === 'summary') {
      fates.push({ from, to, state, by: segment.version, shown });
      continue;
    }
    while ((before[position]?.to ?? from) < from) position += 1;
    pushAttributed(fates, { from, to, state, by: number, shown }, { before, position });
  }
  return fates;
}

/** Adds a fate. Ranges that the parent showed in the same way keep their origin. `position`: first fate to compare. */
function pushAttributed(
  fates: EntryFate[],
  fate: EntryFate,
  { before, position }: { readonly before: readonly EntryFate[]; readonly position: number },
): void {
  let next = fate.from;
  for (let at = position; (before[at]?.from ?? fate.to + 1) <= fate.to; at += 1) {
    const older = before[at] as EntryFate;
    if (older.state !== fate.state || older.shown !== fate.shown) continue;
    if (older.from > next) fates.push({ ...fate, from: next, to: older.from - 1 });
    const end = Math.min(fate.to, older.to);
    fates.push({ ...older, from: Math.max(next, older.from), to: end });
    next = end + 1;
  }
  if (next <= fate.to) fates.push({ ...fate, from: next });
}

function stateOf({ kind }: Segment): EntryState {
  switch (kind) {
    case 'raw':
      return 'live';
    case 'summary':
      return 'summarized';
    case 'evicted':
      return 'archived';
    case 'masked':
      return 'masked';
    case 'clipped':
    case 'excerpt':
      return 'clipped';
  }
}

/** The returned function walks the fates once, so it must be called with ascending seqs. */
export function passFates(fates: readonly EntryFate[], first: number): (seq: number) => EntryFate | undefined {
  let position = findFirst(fates, first);
  return (seq) => {
    while ((fates[position]?.to ?? seq) < seq) position += 1;
    const fate = fates[position];
    return fate !== undefined && fate.from <= seq ? fate : undefined;
  };
}
