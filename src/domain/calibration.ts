/** A provider that counts more than twice or less than half of what we count has counted something else, or not all. */
const LEAST = 0.5;
const MOST = 2;
/** Below this the framing of a request outweighs what is in it. */
const MIN_COUNTED_TOKENS = 256;

/**
 * Whether a provider can have counted the whole request: some tell 0, or leave out what they had cached. Taken at its word, such
 * a count would shut compaction off.
 */
export function isWholeCount(providerTokens: number, countedTokens: number): boolean {
  return providerTokens > 0 && providerTokens >= countedTokens * LEAST;
}

/**
 * What a provider counted of a request ÷ our own count of it, without anchor and calibration. Clamped: one odd answer must
 * not move every limit. Undefined where it is no count of the whole request, or the request too small to say anything.
 */
export function calibrationRatio(providerTokens: number, countedTokens: number): number | undefined {
  if (countedTokens < MIN_COUNTED_TOKENS || !isWholeCount(providerTokens, countedTokens)) return undefined;
  return Math.min(MOST, providerTokens / countedTokens);
}
