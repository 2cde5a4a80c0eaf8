import { z } from 'zod';
import { boundedList, MAX_GROWN_ENTRIES } from '../domain/bounded-schemas.ts';
import { versionEvent } from '../domain/event-record.ts';
import { GROWN_JSON_BOUNDS } from '../domain/json-text.ts';
import { isMapping } from '../domain/parse.ts';
import {
  areAscending,
  type KeptRange,
  type Summary,
  shownKeys,
  type Version,
  versionSchema,
  weighVersion,
} from '../domain/version.ts';
import { corruptRecord, MAX_SEQ, type Place, parseRecordJson } from './records.ts';
import { encodePairs } from './script.ts';

/** Segments are checked by hand, because a schema takes twenty times as long. */
const shellSchema = versionSchema.extend({
  base: z.number().int().min(0).max(MAX_SEQ),
  segments: boundedList(z.unknown(), MAX_GROWN_ENTRIES),
});

const KINDS: ReadonlySet<unknown> = new Set(['raw', 'summary', 'masked', 'clipped', 'excerpt', 'evicted']);

/** @throws corrupt_record if the text is not JSON or not a valid version */
export function decodeVersion(place: Place, text: string): Version {
  return checkVersionRecord(place, parseRecordJson(place, text, GROWN_JSON_BOUNDS));
}

/** @throws corrupt_record if a field is invalid or segments overlap */
export function checkVersionRecord({ key, field }: Place, value: unknown): Version {
  const shell = shellSchema.safeParse(value);
  if (!shell.success) throw corruptRecord(key, field, 'the value is not a valid context version');
  const { base, segments } = shell.data;
  let last = 0;
  for (const segment of segments) {
    if (!isSegment(segment, last, base))
      throw corruptRecord(key, field, 'a segment (compacted range) of the context version is not valid');
    last = segment.to;
  }
  return value as Version;
}

/** A segment starts after the previous one and ends within the base, so segments never overlap. */
function isSegment(value: unknown, after: number, base: number): value is { readonly to: number } {
  if (!isMapping(value) || !KINDS.has(value.kind) || !isWeight(value.weight)) return false;
  const { kind, from, to, summaryKey, depth, version, keepChars, kept, note } = value;
  if (!isCount(from) || !isCount(to) || from <= after || to < from || to > base) return false;
  if (kind === 'summary') return typeof summaryKey === 'string' && isCount(depth) && isCount(version);
  if (kind === 'excerpt') return areRanges(kept);
  if (note !== undefined) return kind === 'masked' && from === to && typeof note === 'string';
  return kind !== 'clipped' || isCount(keepChars);
}

function areRanges(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRange) && areAscending(value);
}

function isRange(value: unknown): value is KeptRange {
  return Array.isArray(value) && value.length === 2 && value.every(isCount);
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

/** Arguments for `lua/shared/put-version.lua`. */
export function versionArgs(version: Version, keepVersions: number): (string | number)[] {
  const { number, base, baseTotal } = version;
  const { tokens, bytes } = weighVersion(version);
  return [
    number,
    JSON.stringify(version),
    tokens,
    bytes,
    base,
    baseTotal.tokens,
    baseTotal.bytes,
    keepVersions,
    ...encodePairs(Object.entries(versionEvent(version))),
  ];
}

export function shownTexts(version: Version): (string | number)[] {
  const keys = shownKeys(version);
  return [keys.length, ...keys];
}

/** Prefixes of fields in `txt:<id>`: of summaries, and of texts by hash. */
export const SUMMARY_PREFIX = 'k:';
export const WHOLE_PREFIX = 'x:';

/** Texts to keep. `byHash`: full texts of clipped messages, and texts that describe the agent of a version. */
export interface KeptTexts {
  readonly summaries: ReadonlyMap<string, Summary>;
  readonly byHash: ReadonlyMap<string, string>;
}

export function encodeTexts({ summaries, byHash }: KeptTexts): (readonly [string, string])[] {
  return [
    ...[...summaries].map(([key, summary]) => [`${SUMMARY_PREFIX}${key}`, JSON.stringify(summary)] as const),
    ...[...byHash].map(([hash, text]) => [`${WHOLE_PREFIX}${hash}`, text] as const),
  ];
}
