import { contextSize, isWholeCount, type RequestOverhead, type SizeAnchor, type SizeRecord } from './size.ts';

/**
 * Why turnfold does not use a provider's token count of a request:
 * - `part`: the provider counted only a part of the request, for example the part that its cache did not have.
 * - `excess`: no tokenizer needs so many tokens for the request.
 * - `stale`: the count has not grown, although the request has. Too little to decide.
 * - `truncated`: the count has not grown, although the request has grown by much. The provider cuts the request without an
 *   error.
 */
export type CountFault = 'part' | 'excess' | 'stale' | 'truncated';

/** A provider reported a token count of a request that turnfold does not use. */
export interface IgnoredCount {
  readonly type: 'count_ignored';
  readonly turn: string;
  readonly model: string;
  /**
   * - `excess`: no tokenizer needs so many tokens.
   * - `truncated`: the count has not grown, although the request has. The provider cuts requests without an error.
   */
  readonly why: 'excess' | 'truncated';
  /** The provider's count. */
  readonly reportedTokens: number;
  /** turnfold's own count. */
  readonly countedTokens: number;
}

/** More tokens of a provider for one token of turnfold's calibrated count than between any two tokenizers. */
const MOST_RATIO = 2;
/** Tokens that a provider or a gateway may add to a request, e.g. for a system prompt of its own. */
const MOST_ADDED = 2_000;

/** A request has grown by much from this share of its former size on, and from this number of tokens on. */
const GROWN = { share: 0.2, tokens: 512 };
/** Growth that a provider cannot count as less than a quarter. */
const COUNTED_GROWTH = { tokens: 128, share: 0.25 };

/** turnfold's own count of a request that a provider has counted, before any correction. */
export interface CountedRequest {
  readonly countedTokens: number;
  /** The part of `countedTokens` that is for pictures. A provider may count a twentieth of it. */
  readonly pictureTokens: number;
}

/**
 * Compares a provider's count of a request with turnfold's own, and with the provider's count of the request before.
 * @param reported all input tokens of the request
 * @param record the sizes of the context in the request
 * @returns undefined if the count can be used
 */
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
