import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { findFirst } from '../../domain/seq-ranges.ts';
import type { Segment, SeqRange, Version } from '../../domain/version.ts';
import { nameSegment } from '../segments.ts';
import type { EntryState } from './names.ts';

export interface EntryFate extends SeqRange {
  readonly state: Exclude<EntryState, 'live'>;
  /** Oldest kept version that shows the range in this way. */
  readonly by: number;
  /** Stands for the whole range: the key of a summary, a note, or the length of a clip. '' for other ranges. */
  readonly shown: string;
}

/** The kept ancestors, oldest first, and the version itself. */
export function traceAncestors(kept: readonly Version[], version: Version): Version[] {
  const byNumber = new Map(kept.map((one) => [one.number, one]));
  const chain = [version];
  for (let at = 0; at < chain.length; at += 1) {
    const { number, parent } = chain[at] as Version;
    // A parent is always older. A corrupt record that says otherwise must not end in a circle.
    const older = parent === null || parent >= number ? undefined : byNumber.get(parent);
    if (older !== undefined) chain.push(older);
  }
  return chain.toReversed();
}

/**
 * An older version made a change if the parent already shows the range in the same way.
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

/** A part that the parent showed in the same way has an older origin. `position`: the first fate that may overlap. */
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

/** Call it with ascending seqs, because it walks the fates once. */
export function passFates(fates: readonly EntryFate[], first: number): (seq: number) => EntryFate | undefined {
  let position = findFirst(fates, first);
  return (seq) => {
    while ((fates[position]?.to ?? seq) < seq) position += 1;
    const fate = fates[position];
    return fate !== undefined && fate.from <= seq ? fate : undefined;
  };
}
