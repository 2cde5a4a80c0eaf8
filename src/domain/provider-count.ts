import { contextSize, isWholeCount, type RequestOverhead, type SizeAnchor, type SizeRecord } from './size.ts';

/**
 * Why turnfold does not use a provider's token count of a request:
 * - `part`: the provider counted only a part of the request, e.g. the part that its cache did not have.
 * - `excess`: no tokenizer needs so many tokens.
 * - `stale`: the count has not grown, although the request has, but by too little to decide.
 * - `truncated`: the count has not grown, although the request has grown by much. The provider cuts requests without an
 *   error.
 */
export type CountFault = 'part' | 'excess' | 'stale' | 'truncated';

export interface IgnoredCount {
  readonly type: 'count_ignored';
  readonly turn: string;
  readonly model: string;
  readonly why: 'excess' | 'truncated';
  /** The provider's count. */
  readonly reportedTokens: number;
  /** Turnfold's own count. */
  readonly countedTokens: number;
}

/** Maximum of reported tokens per token of turnfold's calibrated count. Two tokenizers never differ by so much. */
const MOST_RATIO = 2;
/** Tokens that a provider or a gateway may add, e.g. a system prompt of its own. */
const MOST_ADDED = 2_000;

/** A request has grown by much if it grew by at least this share of its former size and this many tokens. */
const GROWN = { share: 0.2, tokens: 512 };
/** From this many tokens on, no provider counts growth as less than this share of the tokens. */
const COUNTED_GROWTH = { tokens: 128, share: 0.25 };

/** Counts of turnfold before any correction. */
export interface CountedRequest {
  readonly countedTokens: number;
  /** Tokens of pictures, part of `countedTokens`. A provider may count only a twentieth of these tokens. */
  readonly pictureTokens: number;
}

/** @returns undefined if the count can be used */
export function findCountFault(
  reported: number,
  { countedTokens, pictureTokens }: CountedRequest,
  record: SizeRecord,
  overhead: RequestOverhead,
): CountFault | undefined {
  const { anchor } = record;
  if (anchor !== undefined && anchor.version === record.version && anchor.fingerprint === overhead.fingerprint) {
    const fault = compareGrowth({ reported, counted: countedTokens, anchor }, record, overhead);
    if (fault !== undefined) return fault;
  }
  if (!isWholeCount(reported, countedTokens - pictureTokens)) return 'part';
  const most = countedTokens * Math.max(1, overhead.calibration) * MOST_RATIO + MOST_ADDED;
  return reported > most ? 'excess' : undefined;
}

function compareGrowth(
  { reported, counted, anchor }: { reported: number; counted: number; anchor: SizeAnchor },
  { anchor: _, ...record }: SizeRecord,
  overhead: RequestOverhead,
): 'stale' | 'truncated' | undefined {
  const before = contextSize({ ...record, headTotal: anchor.total }, { ...overhead, calibration: 1 }).tokens;
  const grown = counted - before;
  const isStale =
    grown >= COUNTED_GROWTH.tokens &&
    reported >= anchor.tokens / 2 &&
    reported < anchor.tokens + grown * COUNTED_GROWTH.share;
  if (!isStale) return undefined;
  return grown >= Math.max(GROWN.tokens, before * GROWN.share) ? 'truncated' : 'stale';
}
