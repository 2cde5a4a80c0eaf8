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
