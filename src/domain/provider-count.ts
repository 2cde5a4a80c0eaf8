import { contextSize, isWholeCount, type RequestOverhead, type SizeAnchor, type SizeRecord } from './size.ts';

/**
 * Why a provider's token count is not used:
 * - `part`: it covers only a part of the request, e.g. what its cache did not have.
 * - `excess`: no tokenizer needs so many tokens.
 * - `stale`: it has not grown, although the request has, but by too little to decide.
 * - `truncated`: it has not grown, although the request has by much. The provider cuts requests without an error.
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

/** Maximum of a provider's count as a multiple of turnfold's calibrated count. Two tokenizers never differ by more. */
const MOST_RATIO = 2;
/** Maximum tokens that a provider or a gateway adds, such as a system prompt of its own. */
const MOST_ADDED = 2_000;

/** A request has grown by much if it grew by this share of its former size and by this many tokens. */
const GROWN = { share: 0.2, tokens: 512 };
/** For growth of at least this many tokens, every provider counts at least this share of the growth. */
const COUNTED_GROWTH = { tokens: 128, share: 0.25 };

/** Tokens of a request by turnfold's count, without calibration. */
export interface CountedRequest {
  readonly countedTokens: number;
  /** Tokens of pictures, a part of `countedTokens`. A provider may count only a twentieth of them. */
  readonly pictureTokens: number;
}

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
