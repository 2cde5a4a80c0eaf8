import { z } from 'zod';
import { versionEvent } from '../domain/event-record.ts';
import { isMapping } from '../domain/parse.ts';
import type { KeptTexts } from '../domain/ports/version-store.ts';
import { shownKeys, type Version, versionSchema } from '../domain/version.ts';
import { corruptRecord, MAX_SEQ, type Place, parseRecordJson } from './records.ts';
import { encodePairs } from './script.ts';

/** Segments are checked by hand: a schema takes twenty times as long, and a version may have thousands. */
const shellSchema = versionSchema.extend({
  base: z.number().int().min(0).max(MAX_SEQ),
  segments: z.array(z.unknown()),
});

const KINDS: ReadonlySet<unknown> = new Set(['raw', 'summary', 'masked', 'clipped', 'excerpt', 'evicted']);

/** @throws corrupt_record */
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
    if (!isSegment(segment, last, base)) throw corruptRecord(key, field, 'one of its segments is not valid');
    last = segment.to;
  }
  return value as Version; // checked: all but the segments by the schema, these one by one
}

/** True for a segment behind the previous one and within the base, so that segments never overlap. */
function isSegment(value: unknown, after: number, base: number): value is { readonly to: number } {
  if (!isMapping(value) || !KINDS.has(value.kind) || !isWeight(value.weight)) return false;
  const { kind, from, to, summaryKey, depth, version, keepChars } = value;
  if (!isCount(from) || !isCount(to) || from <= after || to < from || to > base) return false;
  if (kind === 'summary') return typeof summaryKey === 'string' && isCount(depth) && isCount(version);
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

/**
 * Encodes a version for `lua/shared/put-version.lua`.
 * @param keepVersions versions to keep besides restore points
 */
export function versionArgs(version: Version, keepVersions: number): (string | number)[] {
  const { number, weight, base, baseTotal } = version;
  return [
    number,
    JSON.stringify(version),
    weight.tokens,
    weight.bytes,
    base,
    baseTotal.tokens,
    baseTotal.bytes,
    keepVersions,
    ...encodePairs(Object.entries(versionEvent(version))),
  ];
}

/** Encodes these keys as arguments, with their count first. */
export function shownTexts(version: Version): (string | number)[] {
  const keys = shownKeys(version);
  return [keys.length, ...keys];
}

/** Field prefixes in `txt:<id>`, of summaries and of texts kept byte for byte. */
export const SUMMARY_PREFIX = 'k:';
export const WHOLE_PREFIX = 'x:';

/** Encodes texts as fields of `txt:<id>`. */
export function encodeTexts({ summaries, byHash }: KeptTexts): (readonly [string, string])[] {
  return [
    ...[...summaries].map(([key, summary]) => [`${SUMMARY_PREFIX}${key}`, JSON.stringify(summary)] as const),
    ...[...byHash].map(([hash, text]) => [`${WHOLE_PREFIX}${hash}`, text] as const),
  ];
}
