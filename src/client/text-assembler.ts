import type { TextDelta } from '../domain/ports/text-deltas.ts';

/** Progress of a turn's text. Each model call (step) writes a text, and the text of the last step is the answer. */
export type TextProgress =
  | {
      readonly type: 'text';
      readonly step: number;
      /** Next characters of the step's text. */
      readonly piece: string;
    }
  /** The step runs again, or with another model. Text of this step that was delivered before is void. */
  | {
      readonly type: 'restart';
      readonly step: number;
    }
  /** Some pieces of the step's text were lost at this point. */
  | {
      readonly type: 'lost';
      readonly step: number;
    };

/**
 * Maximum number of characters kept for a slow listener, the length of the longest possible answer. A listener that
 * lags further behind loses text, so its memory stays bounded.
 */
const MOST_CHARACTERS = 1_048_576;

/**
 * Joins the text pieces of one turn. Pieces arrive in the order in which the worker sent them. Pieces from an earlier
 * owner (epoch) or an earlier step are ignored.
 */
export class TextAssembler {
  readonly #turn: string;
  #epoch = 0;
  #step = 0;
  /** Number of characters of the current step's text that were received or are known to be lost. */
  #offset = 0;
  #parts: TextProgress[] = [];
  #characters = 0;

  constructor(turn: string) {
    this.#turn = turn;
  }

  add({ turn, epoch, step, offset, piece }: TextDelta): void {
    const isOld = epoch < this.#epoch || (epoch === this.#epoch && step < this.#step);
    // Drops a piece of text that belongs to another turn, an earlier worker or an earlier step, or that exceeds the
    // limit. The next accepted piece then reports a gap.
    if (turn !== this.#turn || isOld || this.#characters >= MOST_CHARACTERS) return;
    const isAgain = step <= this.#step && (epoch > this.#epoch || offset < this.#offset);
    if (isAgain) this.#parts.push({ type: 'restart', step });
    const expected = isAgain || step > this.#step ? 0 : this.#offset;
    if (offset > expected) this.#parts.push({ type: 'lost', step });
    if (piece !== '') this.#add(step, piece);
    this.#epoch = epoch;
    this.#step = step;
    this.#offset = offset + piece.length;
  }

  /** Returns the progress of the text since the last call. */
  take(): TextProgress[] {
    const parts = this.#parts;
    this.#parts = [];
    this.#characters = 0;
    return parts;
  }

  #add(step: number, piece: string): void {
    const last = this.#parts.at(-1);
    const isSame = last?.type === 'text' && last.step === step;
    if (isSame) this.#parts[this.#parts.length - 1] = { ...last, piece: last.piece + piece };
    else this.#parts.push({ type: 'text', step, piece });
    this.#characters += piece.length;
  }
}
