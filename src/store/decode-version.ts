import { z } from 'zod';
import { isMapping } from '../domain/parse.ts';
import { type Version, versionSchema } from '../domain/version.ts';
import { corruptRecord } from './corrupt-record.ts';
import { MAX_SEQ, type Place, parseRecordJson } from './record-fields.ts';

/** A version may have thousands of segments: a schema for each takes twenty times as long as a look. */
const shellSchema = versionSchema.extend({
  base: z.number().int().min(0).max(MAX_SEQ),
  segments: z.array(z.unknown()),
});

const KINDS: ReadonlySet<unknown> = new Set(['raw', 'summary', 'masked', 'clipped', 'evicted']);

/** A version as it is kept. @throws corrupt_record */
export function decodeVersion(place: Place, text: string): Version {
  return checkVersionRecord(place, parseRecordJson(place, text));
}

/** @throws corrupt_record */
export function checkVersionRecord({ key, field }: Place, value: unknown): Version {
  const shell = shellSchema.safeParse(value);
  if (!shell.success) throw corruptRecord(key, field, 'it is not a version');
  const { base, segments } = shell.data;
  let last = 0;
  for (const segment of segments) {
    if (!isSegment(segment, last, base)) throw corruptRecord(key, field, 'one of its segments is none');
    last = segment.to;
  }
  return value as Version; // checked: all but the segments by the schema, these one by one
}

/** Behind the one before, and up to the base: so all segments together show no more messages than there are. */
function isSegment(value: unknown, after: number, base: number): value is { readonly to: number } {
  if (!isMapping(value) || !KINDS.has(value.kind) || !isWeight(value.weight)) return false;
  const { kind, from, to, text, depth, version, keepChars } = value;
  if (!isCount(from) || !isCount(to) || from <= after || to < from || to > base) return false;
  if (kind === 'summary') return typeof text === 'string' && isCount(depth) && isCount(version);
  return kind !== 'clipped' || isCount(keepChars);
}

function isWeight(value: unknown): boolean {
  return isMapping(value) && isSize(value.tokens) && isSize(value.bytes);
}

function isSize(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
