import { endsSlice, type Interruptible } from '../domain/interruptible.ts';
import type { Segment, SeqRange, Version } from '../domain/version.ts';
import { describeRange } from './segments.ts';

export interface VersionChange {
  readonly from: number;
  readonly to: number;
  /** How the earlier context version treats these messages. */
  readonly before: Segment['kind'];
  /** How the later context version treats these messages. */
  readonly after: Segment['kind'];
}

/** Finds the differences up to the larger `base` of both versions. After this seq, both show all messages unchanged. */
export function* diffInSlices(before: Version, after: Version): Interruptible<VersionChange[]> {
  const end = Math.max(before.base, after.base);
  const changes: VersionChange[] = [];
  const [segmentBefore, segmentAfter] = [passSegments(before), passSegments(after)];
  let stretches = 0;
  for (let from = 1; from <= end; stretches += 1) {
    const [was, is] = [segmentBefore(from), segmentAfter(from)];
    const range = { from, to: Math.min(end, lastLike(was), lastLike(is)) };
    if (describe(before, was.segment, range) !== describe(after, is.segment, range)) {
      const kinds = { before: was.segment?.kind ?? ('raw' as const), after: is.segment?.kind ?? ('raw' as const) };
      addChange(changes, { ...range, ...kinds });
    }
    from = range.to + 1;
    if (endsSlice(stretches)) yield;
  }
  return changes;
}

function addChange(changes: VersionChange[], change: VersionChange): void {
  const last = changes.at(-1);
  const isContinued =
    last !== undefined && last.to === change.from - 1 && last.before === change.before && last.after === change.after;
  if (isContinued) changes[changes.length - 1] = { ...last, to: change.to };
  else changes.push(change);
}

interface Passed {
  readonly segment: Segment | undefined;
  readonly nextFrom: number | undefined;
}

function lastLike({ segment, nextFrom }: Passed): number {
  return segment?.to ?? (nextFrom === undefined ? Number.POSITIVE_INFINITY : nextFrom - 1);
}

/** Finds segments by ascending seqs, in one walk. A separate search for each of 25,000 ranges would take seconds. */
function passSegments({ segments }: Version): (seq: number) => Passed {
  let position = 0;
  return (seq) => {
    while ((segments[position]?.to ?? seq) < seq) position += 1;
    const next = segments[position];
    return next !== undefined && next.from <= seq
      ? { segment: next, nextFrom: undefined }
      : { segment: undefined, nextFrom: next?.from };
  };
}

function describe(version: Version, segment: Segment | undefined, range: SeqRange): string {
  return describeRange({ ...version, segments: segment === undefined ? [] : [segment] }, range).join();
}
