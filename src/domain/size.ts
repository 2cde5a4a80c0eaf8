import { FRAMING_TOKENS, scaleTokens } from './limits.ts';
import type { Weight } from './message.ts';

/** A provider's count of an earlier request. Later sizes start from it, because turnfold's count is less exact. */
export interface SizeAnchor {
  /** Seq of the model's answer to that request. `tokens` includes the answer. */
  readonly seq: number;
  /** All input tokens, including cached tokens, plus the output that is sent again. */
  readonly tokens: number;
  /** Size of all log entries up to `seq`. */
  readonly total: Weight;
  /** The count does not apply to other versions. */
  readonly version: number;
  /** Hash of model, system prompt and tools. The count does not apply to another hash. */
  readonly fingerprint?: string;
  /** True if the count was checked for plausibility before it was stored. */
  readonly isWhole?: true;
}

/** Sizes that are stored with the conversation, so that one read returns them. */
export interface SizeRecord {
  readonly version: number;
  readonly weight: Weight;
  /** Size of the log entries that the segments cover. */
  readonly baseTotal: Weight;
  /** Size of all log entries. */
  readonly headTotal: Weight;
  /** Latest plausible count by a provider. */
  readonly anchor?: SizeAnchor;
}

export interface RequestOverhead extends Weight {
  /** System prompt, pinned texts and tool schemas. */
  readonly tokens: number;
  /** Part of `tokens`. */
  readonly pinTokens?: number;
  readonly bytes: number;
  /** The provider's count divided by turnfold's, within limits. 1 if unknown. */
  readonly calibration: number;
  /** Hash of model, system prompt and tools. */
  readonly fingerprint?: string;
}

export const NO_OVERHEAD: RequestOverhead = { tokens: 0, bytes: 0, calibration: 1 };

/**
 * Expected size of the next request. Threshold checks, passes and turns all use it, so a plan aims at the size by
 * which a turn asked for it.
 *
 * Nothing is counted again. Each log entry has the size of the log up to it, so a range weighs the difference of two
 * totals.
 *
 * A provider's count is more exact than turnfold's. So an anchor, the count of an earlier request, is extended by the
 * entries since then, under the same version, model, system prompt and tools. Without one, turnfold's own count of the
 * whole request is calibrated.
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

function countUpTo(total: Weight, { weight, baseTotal }: SizeRecord, overhead: RequestOverhead): number {
  return weight.tokens + total.tokens - baseTotal.tokens + overhead.tokens + FRAMING_TOKENS;
}

/** An unchecked provider count below half of turnfold's own is ignored. */
function isValid(anchor: SizeAnchor, record: SizeRecord, overhead: RequestOverhead): boolean {
  if (anchor.version !== record.version || !hasSameFingerprint(anchor, overhead)) return false;
  return anchor.isWhole === true || isWholeCount(anchor.tokens, countUpTo(anchor.total, record, overhead));
}

/** An absent hash matches any hash. */
function hasSameFingerprint({ fingerprint }: SizeAnchor, overhead: RequestOverhead): boolean {
  return fingerprint === undefined || overhead.fingerprint === undefined || fingerprint === overhead.fingerprint;
}

/**
 * The larger of the model's own factor and that of the latest count. So a plan and the turn that requested it use the
 * same size.
 */
export function calibrationOf(record: SizeRecord, overhead: RequestOverhead): number {
  const { anchor } = record;
  if (anchor === undefined || !isValid(anchor, record, overhead)) return overhead.calibration;
  return Math.max(overhead.calibration, anchor.tokens / countUpTo(anchor.total, record, overhead));
}

/** Upper bound of the provider's count, which hard limits use. */
export function upperBoundTokens(tokens: number, factor: number): number {
  return Math.ceil(scaleTokens(tokens, factor));
}

/** Limits of the ratio of both counts. Outside these, the provider counted something else or only a part. */
const LEAST = 0.5;
const MOST = 2;
/** Minimum tokens of a request whose ratio counts. In smaller requests, the message format dominates the count. */
const MIN_COUNTED_TOKENS = 256;

/** Some providers report 0 or leave out cached tokens. Such a count would prevent compaction. */
export function isWholeCount(providerTokens: number, countedTokens: number): boolean {
  return providerTokens > 0 && providerTokens >= countedTokens * LEAST;
}

/**
 * Ratio of both counts, limited because one odd count must not change every threshold. Undefined if the provider did
 * not count the whole request, or the request is too small.
 */
export function calibrationRatio(providerTokens: number, countedTokens: number): number | undefined {
  if (countedTokens < MIN_COUNTED_TOKENS || !isWholeCount(providerTokens, countedTokens)) return undefined;
  return Math.min(MOST, providerTokens / countedTokens);
}
