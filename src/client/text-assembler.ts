import type { TextDelta } from '../domain/ports/text-deltas.ts';

/** Progress of a turn's text. Each model step has a text, and the last one is the answer. */
export type TextProgress =
  | {
      readonly type: 'text';
      /** Number of the model step, from 1. */
      readonly step: number;
      /** Next piece of the step's text. */
      readonly piece: string;
    }
  /** The step runs again, or with another model. Its earlier text is void. */
  | {
      readonly type: 'restart';
      /** Number of the model step that restarts. */
      readonly step: number;
    }
  /** Pieces of the step's text are missing here. */
  | {
      readonly type: 'lost';
      /** Number of the model step with the gap. */
      readonly step: number;
    };

/** Length of the longest possible answer. A listener that lags further behind loses pieces, which bounds its memory. */
const MOST_CHARACTERS = 1_048_576;

/**
 * Assembles the text deltas of one turn. Deltas arrive in the order that their owner sent them. Deltas of an earlier
 * epoch or step are ignored.
 */
export class TextAssembler {
  readonly #turn: string;
  #epoch = 0;
  #step = 0;
  /** Characters of the step's text that were received or are known to be lost. */
  #offset = 0;
  #parts: TextProgress[] = [];
  #characters = 0;

  constructor(turn: string) {
    this.#turn = turn;
  }

  add({ turn, epoch, step, offset, piece }: TextDelta): void {
    const isOld = epoch < this.#epoch || (epoch === this.#epoch && step < this.#step);
    // A dropped delta shows as a gap before the next delta that is kept.
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

  /** Returns the progress since the last call. */
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
