import type { TextProgress } from '../client/index.ts';
import type { TurnView } from '../domain/turn.ts';
import { describeTurn } from './describe-turn.ts';
import type { Output } from './output.ts';

/** The text of a turn as it is written, each step's in a paragraph of its own. Knows what stands on the screen of the step. */
export class TurnPage {
  readonly #output: Output;
  #step = 0;
  #shown = '';

  constructor(output: Output) {
    this.#output = output;
  }

  add(part: TextProgress): void {
    if (part.type !== 'text') {
      this.breakLine();
      this.#output.note(part.type === 'restart' ? '(begins again)' : '(a piece was lost)');
      return;
    }
    if (part.step !== this.#step) this.breakLine();
    this.#step = part.step;
    this.#shown += part.piece;
    this.#output.text(part.piece);
  }

  /** The whole answer, unless it stands there already. */
  end(view: TurnView): void {
    const result = view.answer?.content ?? describeTurn(view);
    const isThere = this.#shown === result;
    this.breakLine();
    if (!isThere) this.#output.line(result);
    if (view.answer?.end !== undefined) this.#output.note(`(not complete: ${view.answer.end})`);
  }

  /** What comes next begins on a line of its own. */
  breakLine(): void {
    if (this.#shown !== '') this.#output.line('');
    this.#shown = '';
  }
}
