import { FRAMING_TOKENS, scaleTokens } from './limits.ts';
import type { Weight } from './message.ts';

/**
 * Size of an earlier request as the provider counted it. Later sizes are computed from it, because it is more exact
 * than turnfold's count.
 */
export interface SizeAnchor {
  /** Sequence number of the answer in the log. `tokens` includes everything up to it. */
  readonly seq: number;
  /** All input tokens, cached ones included, plus the part of the output that is sent again. */
  readonly tokens: number;
  /** Size of all log entries up to `seq`. */
  readonly total: Weight;
  /** Context version that was sent. The count does not apply to other versions. */
  readonly version: number;
  /** Hash of model, system prompt and tools. The count does not apply to requests with another hash. */
  readonly fingerprint?: string;
  /** True if the provider's count was checked for plausibility before it was stored. */
  readonly isWhole?: true;
}

/**
 * Numbers from which the size of a context is computed. Stored with the conversation, so that one read returns them.
 */
export interface SizeRecord {
  /** Number of the current context version. */
  readonly version: number;
  /** Size of the current version. */
  readonly weight: Weight;
  /** Size of all log entries that the segments cover. */
  readonly baseTotal: Weight;
  /** Size of all log entries. */
  readonly headTotal: Weight;
  /** Latest plausible token count by a provider, if there is one. */
  readonly anchor?: SizeAnchor;
}

/** Sizes of the parts of a request that are not messages, and the correction factor of its model. */
export interface RequestOverhead extends Weight {
  /** Tokens of the system prompt, the policy's pinned texts and the tool schemas. */
  readonly tokens: number;
  /** Part of `tokens` that the policy's pinned texts take. */
  readonly pinTokens?: number;
  readonly bytes: number;
  /** Correction factor: the provider's token count divided by turnfold's, within limits. 1 if unknown. */
  readonly calibration: number;
  /** Hash of model, system prompt and tools, on which a provider's count depends. */
  readonly fingerprint?: string;
}

export const NO_OVERHEAD: RequestOverhead = { tokens: 0, bytes: 0, calibration: 1 };

/**
 * Computes the expected size of the next request in tokens and bytes. Threshold checks, compaction and turn workers all
 * use this function.
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

/** turnfold's own token count of a request whose messages end at this point of the log. */
function countUpTo(total: Weight, { weight, baseTotal }: SizeRecord, overhead: RequestOverhead): number {
  return weight.tokens + total.tokens - baseTotal.tokens + overhead.tokens + FRAMING_TOKENS;
}

/**
 * Decides whether an earlier count by the provider can be used for a request. An unchecked count below turnfold's own
 * count is ignored.
 */
function isValid(anchor: SizeAnchor, record: SizeRecord, overhead: RequestOverhead): boolean {
  if (anchor.version !== record.version || !hasSameFingerprint(anchor, overhead)) return false;
  return anchor.isWhole === true || isWholeCount(anchor.tokens, countUpTo(anchor.total, record, overhead));
}

/** Compares the hashes of model, system prompt and tools. An absent hash matches any hash. */
function hasSameFingerprint({ fingerprint }: SizeAnchor, overhead: RequestOverhead): boolean {
  return fingerprint === undefined || overhead.fingerprint === undefined || fingerprint === overhead.fingerprint;
}

/**
 * The calibration by which the size of this context was last counted: the largest of the model's own and that of the
 * provider's latest count. A plan that uses it agrees with the size by which a turn asked for the plan.
 */
export function calibrationOf(record: SizeRecord, overhead: RequestOverhead): number {
  const { anchor } = record;
  if (anchor === undefined || !isValid(anchor, record, overhead)) return overhead.calibration;
  return Math.max(overhead.calibration, anchor.tokens / countUpTo(anchor.total, record, overhead));
}

/** Upper bound of a token count, never below the provider's count. Hard limits use it. */
export function upperBoundTokens(tokens: number, factor: number): number {
  return Math.ceil(scaleTokens(tokens, factor));
}

/**
 * If the provider's count divided by turnfold's is outside of these factors, the provider counted something else or
 * only a part.
 */
const LEAST = 0.5;
const MOST = 2;
/**
 * The provider's count is ignored for requests below this size, because the message format around the contents
 * dominates it.
 */
const MIN_COUNTED_TOKENS = 256;

/**
 * Checks that a provider counted the whole request. Some providers report 0 or leave out cached tokens, and such a
 * count would prevent compaction.
 */
export function isWholeCount(providerTokens: number, countedTokens: number): boolean {
  return providerTokens > 0 && providerTokens >= countedTokens * LEAST;
}

/**
 * Divides a provider's count of a request by turnfold's own uncorrected count. The result is limited, because one odd
 * count must not change every threshold.
 * @returns undefined if the provider did not count the whole request, or if the request is too small
 */
export function calibrationRatio(providerTokens: number, countedTokens: number): number | undefined {
  if (countedTokens < MIN_COUNTED_TOKENS || !isWholeCount(providerTokens, countedTokens)) return undefined;
  return Math.min(MOST, providerTokens / countedTokens);
}
