import { nameSegment } from '../domain/compaction/segments.ts';
import type { Segment } from '../domain/version.ts';
import { hashOf } from './fixed-texts.ts';

/** What a version changes of the log, whatever its number: raw ends move with every message that is appended. */
export function hashSegments(segments: readonly Segment[]): string {
  const changes = segments
    .filter(({ kind }) => kind !== 'raw')
    .map((segment) => [segment.kind, segment.from, segment.to, nameSegment(segment)]);
  return hashOf(JSON.stringify(changes));
}
