/** Bits of the query words of lines: for each line, the words that it holds, and those that stand alone in it. */
export type LineBits = Uint32Array;

/** Words that stand around a line and name its subject, e.g. the call of a result. */
export type HeadBits = readonly [found: number, alone: number];

/** Weight of a word by its distance in lines from the scored line. */
const BY_DISTANCE = [1, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2];
/** Weight of a word that only the head of a round has. */
const BY_HEAD = 0.35;
/** Weight of a part of a longer word, and of another form of the word. */
const PART_SHARE = 0.6;
const TABLE = 256;

/** Scores lines by the rarest words in and around them. A word counts once, by its closest place. */
export class LineScores {
  /** Sums of the weights for each byte of bits, because a search scores 10,000 lines. */
  readonly #tables: readonly Float64Array[];

  constructor(weights: readonly number[]) {
    this.#tables = [0, 8, 16].map((first) => {
      const table = new Float64Array(TABLE);
      for (let bits = 1; bits < TABLE; bits += 1) {
        const low = 31 - Math.clz32(bits & -bits);
        table[bits] = (table[bits & (bits - 1)] as number) + (weights[first + low] ?? 0);
      }
      return table;
    });
  }

  valueOf(found: number, alone: number): number {
    return PART_SHARE * this.#sum(found) + (1 - PART_SHARE) * this.#sum(alone);
  }

  scoreOf(bits: LineBits, line: number, [headFound, headAlone]: HeadBits): number {
    let [found, alone, seen] = [0, 0, 0];
    let [score, known] = [0, 0];
    for (let distance = 0; distance < BY_DISTANCE.length; distance += 1) {
      const [before, after] = [2 * (line - distance), 2 * (line + distance)];
      const isIn = before >= 0;
      found |= (isIn ? (bits[before] as number) : 0) | (bits[after] ?? 0);
      alone |= (isIn ? (bits[before + 1] as number) : 0) | (bits[after + 1] ?? 0);
      // Words that stand alone are among the found ones, and most lines around a line have no searched word.
      if (found + alone === seen) continue;
      seen = found + alone;
      const value = this.valueOf(found, alone);
      score += (BY_DISTANCE[distance] as number) * (value - known);
      known = value;
    }
    return roundScore(score + BY_HEAD * (this.valueOf(found | headFound, alone | headAlone) - known));
  }

  #sum(bits: number): number {
    const [low, middle, high] = this.#tables as unknown as readonly [Float64Array, Float64Array, Float64Array];
    return (low[bits & 255] as number) + (middle[(bits >>> 8) & 255] as number) + (high[(bits >>> 16) & 255] as number);
  }
}

/** Rounds a score, because floating-point sums depend on the order of the additions. */
export function roundScore(score: number): number {
  return Math.round(score * 1e6) / 1e6;
}
