/** A provider that counts more than twice or less than half of what we count has counted something else. */
const LEAST = 0.5;
const MOST = 2;
/** Below this the framing of a request outweighs what is in it. */
const MIN_COUNTED_TOKENS = 256;

/**
 * What a provider counted of a request ÷ our own count of it, without anchor and calibration. Clamped: one odd answer must
 * not move every limit. Undefined where the request is too small to say anything.
 */
export function calibrationRatio(providerTokens: number, countedTokens: number): number | undefined {
  if (countedTokens < MIN_COUNTED_TOKENS || providerTokens <= 0) return undefined;
  return Math.min(MOST, Math.max(LEAST, providerTokens / countedTokens));
}
