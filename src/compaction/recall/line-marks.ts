import type { LineBits } from './line-scores.ts';

interface WordMark {
  readonly bit: number;
  /** True for the query word itself. False for a longer word that contains it, and for another form of it. */
  readonly isAlone: boolean;
  /** True for a frequent word, which is marked only on lines that hold another query word. */
  readonly isFrequent: boolean;
}

const BLOCK_SHIFT = 5;
const BLOCK_LINES = 1 << BLOCK_SHIFT;

/** Marks the query words of each line. Fresh memory for 200,000 lines takes longer than a search, so it is reused. */
export class LineMarks {
  #lines = 0;
  /** Two numbers a line: a bit for each query word in the line, and a bit for each word that stands alone. */
  #bits: LineBits = new Uint32Array(0);
  /** 1 for each block of 32 lines with a marked line. Most blocks have none. */
  #blocks = new Uint8Array(0);

  open(lines: number): void {
    this.#lines = lines;
    const blocks = (lines >>> BLOCK_SHIFT) + 1;
    if (blocks <= this.#blocks.length) return;
    this.#blocks = new Uint8Array(Math.ceil(blocks * 1.25));
    this.#bits = new Uint32Array(2 * BLOCK_LINES * this.#blocks.length);
  }

  clear(): void {
    for (let block = this.#blocks.indexOf(1); block !== -1; block = this.#blocks.indexOf(1, block + 1)) {
      this.#blocks[block] = 0;
      this.#bits.fill(0, 2 * BLOCK_LINES * block, 2 * BLOCK_LINES * (block + 1));
    }
  }

  mark(line: number, { bit, isAlone, isFrequent }: WordMark): void {
    // Lines that were added to the index during this search are left out.
    if (line >= this.#lines) return;
    const bits = this.#bits[2 * line] as number;
    if (bits === 0) {
      if (isFrequent) return;
      this.#blocks[line >>> BLOCK_SHIFT] = 1;
    }
    this.#bits[2 * line] = bits | bit;
    if (isAlone) this.#bits[2 * line + 1] = (this.#bits[2 * line + 1] as number) | bit;
  }

  /** First line from `start` on, before `end`, in a block with a marked line, or `end`. */
  next(start: number, end: number): number {
    for (let block = start >>> BLOCK_SHIFT; block << BLOCK_SHIFT < end; block += 1) {
      if (this.#blocks[block] === 1) return Math.max(start, block << BLOCK_SHIFT);
    }
    return end;
  }

  /** The marks of some lines, as a view that is valid until `clear`. */
  read(start: number, end: number): LineBits {
    return this.#bits.subarray(2 * start, 2 * end);
  }
}
