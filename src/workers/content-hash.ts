import { createHash } from 'node:crypto';
import { nameSegment } from '../compaction/segments.ts';
import type { Segment } from '../domain/version.ts';

/** Hash for Redis keys. With 128 bits, two texts of one conversation do not collide. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Hash of a version's compacted segments. Raw segments are left out, because they grow with each appended message. */
export function hashSegments(segments: readonly Segment[]): string {
  const changes = segments
    .filter(({ kind }) => kind !== 'raw')
    .map((segment) => [segment.kind, segment.from, segment.to, nameSegment(segment)]);
  return hashOf(JSON.stringify(changes));
}
