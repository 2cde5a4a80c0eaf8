import { FRAMING_TOKENS, scaleTokens } from './limits.ts';
import type { Weight } from './message.ts';

/** Size of the last request as its provider counted it, and the part of the log that it covers. */
export interface SizeAnchor {
  /** Seq of the answer. `tokens` includes everything up to it. */
  readonly seq: number;
  /** Tokens of the input, cached ones included, plus the part of the output that is sent again. */
  readonly tokens: number;
  /** Weight of the log up to `seq`. */
  readonly total: Weight;
  /** Version that was sent. The anchor is void under another live version. */
  readonly version: number;
  /** Hash of model, system prompt and tools. The anchor is void for a request with another one. */
  readonly fingerprint?: string;
  /** The provider's count was compared with ours before it was recorded. */
  readonly isWhole?: true;
}

/** Figures from which the size of a context follows. Kept in the conversation, so that one read returns them. */
export interface SizeRecord {
  /** Number of the live version. */
  readonly version: number;
  /** Weight of the live version's segments. */
  readonly weight: Weight;
  /** Weight of the log up to the version's base. */
  readonly baseTotal: Weight;
  /** Weight of the log up to its head. */
  readonly headTotal: Weight;
  /** Last count by a provider, if there is one. */
  readonly anchor?: SizeAnchor;
}

/** Parts of a request besides messages, and the calibration of its model. */
export interface RequestOverhead extends Weight {
  /** Tokens of system prompt, pins of the policy and tool schemas. */
  readonly tokens: number;
  /** Tokens of the pins among them. */
  readonly pinTokens?: number;
  readonly bytes: number;
  /** The provider's count ÷ ours, clamped. 1 while nothing is known. */
  readonly calibration: number;
  /** Hash of model, system prompt and tools, on which a provider's count depends. */
  readonly fingerprint?: string;
}

export const NO_OVERHEAD: RequestOverhead = { tokens: 0, bytes: 0, calibration: 1 };

/**
 * Computes the size of the next request: mean tokens, and bytes. Threshold check, compaction and sender share this
 * function.
 */
export function contextSize(record: SizeRecord, overhead: RequestOverhead): Weight {
  const { anchor, headTotal } = record;
  const bytes = record.weight.bytes + headTotal.bytes - record.baseTotal.bytes + overhead.bytes;
  if (anchor !== undefined && isValid(anchor, record, overhead)) {
    const since = headTotal.tokens - anchor.total.tokens;
    return { tokens: Math.round(anchor.tokens + since * overhead.calibration), bytes };
  }
  return { tokens: Math.round(countUpTo(headTotal, record, overhead) * overhead.calibration), bytes };
}

/** Our own count of a request whose log ends at this total. */
function countUpTo(total: Weight, { weight, baseTotal }: SizeRecord, overhead: RequestOverhead): number {
  return weight.tokens + total.tokens - baseTotal.tokens + overhead.tokens + FRAMING_TOKENS;
}

/**
 * Decides whether an anchor holds for a request. An unchecked count that is too low is ignored, and our own count
 * holds.
 */
function isValid(anchor: SizeAnchor, record: SizeRecord, overhead: RequestOverhead): boolean {
  if (anchor.version !== record.version || !hasSameFingerprint(anchor, overhead)) return false;
  return anchor.isWhole === true || isWholeCount(anchor.tokens, countUpTo(anchor.total, record, overhead));
}

/** Compares the hashes. An absent hash matches every other. */
function hasSameFingerprint({ fingerprint }: SizeAnchor, overhead: RequestOverhead): boolean {
  return fingerprint === undefined || overhead.fingerprint === undefined || fingerprint === overhead.fingerprint;
}

/** Upper bound of a count, never less than the provider's count. Guarantees rest on it. */
export function upperBoundTokens(tokens: number, factor: number): number {
  return Math.ceil(scaleTokens(tokens, factor));
}

/** A provider's count beyond these factors of our count has counted something else, or only a part. */
const LEAST = 0.5;
const MOST = 2;
/** Size below which the framing outweighs the contents of a request. */
const MIN_COUNTED_TOKENS = 256;

/**
 * Checks that a provider counted the whole request. Some providers report 0, or leave out cached tokens. Such a count
 * would switch compaction off.
 */
export function isWholeCount(providerTokens: number, countedTokens: number): boolean {
  return providerTokens > 0 && providerTokens >= countedTokens * LEAST;
}

/**
 * Computes a provider's count of a request ÷ our own count, without anchor and calibration. The ratio is clamped,
 * because one odd answer must not move every limit.
 * @returns undefined if the provider did not count the whole request, or if the request is too small
 */
export function calibrationRatio(providerTokens: number, countedTokens: number): number | undefined {
  if (countedTokens < MIN_COUNTED_TOKENS || !isWholeCount(providerTokens, countedTokens)) return undefined;
  return Math.min(MOST, providerTokens / countedTokens);
}
