import type { TextDelta } from '../domain/ports/text-deltas.ts';

/** What a listener is told of a turn's text. A turn has a text for each of its model steps; the last one's is the answer. */
export type TextProgress =
  | {
      readonly type: 'text';
      /** the model step whose text this is, from 1 */

      readonly step: number;
      /** the next piece of the text */

      readonly piece: string;
    }
  /** the step is taken again, or by another model: what was told of its text does not hold */
  | {
      readonly type: 'restart';
      /** the model step that begins again */
      readonly step: number;
    }
  /** pieces of the step's text are missing here */
  | {
      readonly type: 'lost';
      /** the model step whose text has a gap here */
      readonly step: number;
    };

/** The largest answer there is: a listener that lags behind by so much loses pieces, and nobody's memory. */
const MOST_CHARACTERS = 1_048_576;

/**
 * Puts the deltas of one turn together. Deltas come in the order in which their owner told them; those of an owner that lost
 * the turn and does not know it yet are passed over.
 */
export class TextAssembler {
  readonly #turn: string;
  #epoch = 0;
  #step = 0;
  /** of the step's text, heard or known to be lost */
  #offset = 0;
  #parts: TextProgress[] = [];
  #characters = 0;

  constructor(turn: string) {
    this.#turn = turn;
  }

  add({ turn, epoch, step, offset, piece }: TextDelta): void {
    const isOld = epoch < this.#epoch || (epoch === this.#epoch && step < this.#step);
    // What is dropped here shows as a gap before the next that is not.
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

  /** What was heard since the last call. */
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
