import type { TurnProgress } from '../../client/index.ts';
import type { TurnView } from '../../domain/turn.ts';
import type { CommandContext } from '../command-context.ts';
import { type Output, writeJson } from '../output.ts';

export interface FollowOptions {
  readonly tenant: string;
  /** 0: until the turn is settled */
  readonly waitMs: number;
  readonly json?: boolean;
}

/** Prints a turn's text as it is written, each step's in a paragraph of its own. @returns the turn at the end */
export async function followTurn(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, waitMs, json = false }: FollowOptions,
): Promise<TurnView> {
  const page = new Page(output);
  for await (const part of client.stream({ tenant, id }, turn, waitMs === 0 ? {} : { waitMs })) {
    if (json) writeJson(output, part);
    else if (part.type === 'result') page.end(part.view);
    else page.add(part);
    if (part.type === 'result') return part.view;
  }
  throw new Error(`the stream of ${turn} ended without a result`);
}

/** A turn without an answer, in one line. */
export function describeTurn({ turn, state, failure, waiting }: TurnView): string {
  const why = failure === undefined ? '' : `  ${failure.code}: ${failure.message}`;
  return `${turn}  ${state}${waiting === undefined ? why : `  for ${waiting.for}`}`;
}

/** What stands on the screen of the step that is being written. */
class Page {
  readonly #output: Output;
  #step = 0;
  #shown = '';

  constructor(output: Output) {
    this.#output = output;
  }

  add(part: Exclude<TurnProgress, { readonly type: 'result' }>): void {
    if (part.type !== 'text') {
      this.#breakLine();
      this.#output.note(part.type === 'restart' ? '(begins again)' : '(a piece was lost)');
      return;
    }
    if (part.step !== this.#step) this.#breakLine();
    this.#step = part.step;
    this.#shown += part.piece;
    this.#output.text(part.piece);
  }

  /** The whole answer, unless it stands there already. */
  end(view: TurnView): void {
    const result = view.answer?.content ?? describeTurn(view);
    const isThere = this.#shown === result;
    this.#breakLine();
    if (!isThere) this.#output.line(result);
    if (view.answer?.end !== undefined) this.#output.note(`(not complete: ${view.answer.end})`);
  }

  #breakLine(): void {
    if (this.#shown !== '') this.#output.line('');
    this.#shown = '';
  }
}
