import { describeRange } from './compaction/segments.ts';
import type { Segment, SeqRange, Version } from './version.ts';

/** A stretch of the log that two versions treat differently. */
export interface VersionChange {
  /** first seq */
  readonly from: number;
  /** last seq */
  readonly to: number;
  /** how the earlier version shows these messages */
  readonly before: Segment['kind'];
  /** how the later version shows them */
  readonly after: Segment['kind'];
}

/** What changed from one version to another, up to the later base; behind a base everything is raw. */
export function diffVersions(before: Version, after: Version): VersionChange[] {
  const end = Math.max(before.base, after.base);
  const bounds = [...new Set([1, end + 1, ...starts(before), ...starts(after)])]
    .filter((seq) => seq <= end + 1)
    .toSorted((a, b) => a - b);
  const changes: VersionChange[] = [];
  const [segmentBefore, segmentAfter] = [passSegments(before), passSegments(after)];
  bounds.slice(0, -1).forEach((from, index) => {
    const range = { from, to: (bounds[index + 1] as number) - 1 };
    const [was, is] = [segmentBefore(from), segmentAfter(from)];
    if (describe(before, was, range) === describe(after, is, range)) return;
    const change = { ...range, before: was?.kind ?? ('raw' as const), after: is?.kind ?? ('raw' as const) };
    const last = changes.at(-1);
    const isContinued =
      last !== undefined && last.to === from - 1 && last.before === change.before && last.after === change.after;
    if (isContinued) changes[changes.length - 1] = { ...last, to: change.to };
    else changes.push(change);
  });
  return changes;
}

function starts(version: Version): number[] {
  return [...version.segments.map((segment) => segment.from), version.base + 1];
}

/**
 * The segment that holds a seq; undefined behind the base. The seqs that are asked for ascend, so that all segments are passed
 * once: searched for each of 25,000 stretches, they would take seconds.
 */
function passSegments({ segments }: Version): (seq: number) => Segment | undefined {
  let position = 0;
  return (seq) => {
    while ((segments[position]?.to ?? seq) < seq) position += 1;
    return segments[position];
  };
}

/** A stretch that lies in one segment. */
function describe(version: Version, segment: Segment | undefined, range: SeqRange): string {
  return describeRange({ ...version, segments: segment === undefined ? [] : [segment] }, range).join();
}
