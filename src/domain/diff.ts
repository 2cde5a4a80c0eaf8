import { describeRange } from './compaction/segments.ts';
import type { Segment, Version } from './version.ts';

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
  bounds.slice(0, -1).forEach((from, index) => {
    const range = { from, to: (bounds[index + 1] as number) - 1 };
    if (describeRange(before, range).join() === describeRange(after, range).join()) return;
    const change = { ...range, before: kindAt(before, from), after: kindAt(after, from) };
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

function kindAt(version: Version, seq: number): Segment['kind'] {
  return version.segments.find((segment) => segment.from <= seq && seq <= segment.to)?.kind ?? 'raw';
}
