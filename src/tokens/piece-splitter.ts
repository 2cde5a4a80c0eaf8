import { CHAR_CLASSES, type CharClassTable } from './char-class.ts';
import { BEFORE, MOVE_BITS, ROW_BITS, TAKE } from './split-rules.ts';

const END = CHAR_CLASSES.indexOf('end');
const MOVE_MASK = (1 << MOVE_BITS) - 1;

/** Splits UTF-8 text into the pieces that are merged separately. Keeps its position, so that it can pause anywhere. */
export class PieceSplitter {
  /** Start of the current piece. Set to its end when the piece is complete. */
  start = 0;
  readonly #rules: Uint8Array;
  readonly #chars: CharClassTable;
  readonly #bytes: Uint8Array;
  #state = 0;
  #position = 0;
  #end = 0;

  constructor(rules: Uint8Array, chars: CharClassTable, bytes: Uint8Array) {
    this.#rules = rules;
    this.#chars = chars;
    this.#bytes = bytes;
  }

  /** Returns the end of the next piece in bytes. Returns −1 if it is not within `maxBytes`: call again to continue. */
  next(maxBytes: number): number {
    const bytes = this.#bytes;
    const classes = this.#chars.classes;
    const rules = this.#rules;
    const limit = Math.min(bytes.length, this.#position + maxBytes);
    let position = this.#position;
    let state = this.#state;
    let end = this.#end;
    let move = TAKE;
    while (position < limit) {
      const lead = bytes[position] as number;
      let codePoint = lead;
      let width = 1;
      if (lead >= 0x80) {
        width = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        codePoint = decodeAt(bytes, position, width);
      }
      move = rules[(state << ROW_BITS) | (classes[codePoint] || this.#chars.classify(codePoint))] as number;
      if (move === 0) break;
      state = move >> MOVE_BITS;
      const kind = move & MOVE_MASK;
      if (kind === BEFORE) end = position;
      position += width;
      if (kind === TAKE) end = position;
    }
    if (move !== 0 && position < bytes.length) {
      this.#position = position;
      this.#state = state;
      this.#end = end;
      return -1;
    }
    if (move !== 0 && ((rules[(state << ROW_BITS) | END] as number) & MOVE_MASK) === BEFORE) end = position;
    this.start = end;
    this.#position = end;
    this.#state = 0;
    this.#end = end;
    return end;
  }
}

/** Decodes one code point. The text comes from an encoder, so it is valid UTF-8. */
function decodeAt(bytes: Uint8Array, position: number, width: number): number {
  const lead = bytes[position] as number;
  const second = (bytes[position + 1] as number) & 0x3f;
  if (width === 2) return ((lead & 0x1f) << 6) | second;
  const third = (bytes[position + 2] as number) & 0x3f;
  if (width === 3) return ((lead & 0x0f) << 12) | (second << 6) | third;
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[position + 3] as number) & 0x3f);
}
