import type { TurnProgress } from '../../client/index.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import { isSettled, type TurnView } from '../../domain/turn.ts';
import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { type Output, writeJson } from '../output.ts';

export interface TellOptions extends ConversationOptions {
  /** ms to wait for the answer; 0 tells how the turn stands, or streams until it is settled */
  readonly waitMs: number;
  /** print the text as it is written */
  readonly stream?: boolean;
}

/** Prints a turn as it stands, or as it ends. @returns the exit code: 1 where it waited and there is no answer */
export async function tellTurn(
  context: CommandContext,
  id: string,
  turn: string,
  options: TellOptions,
): Promise<number> {
  const { waitMs, stream = false } = options;
  const view = await (stream ? followTurn : printTurn)(context, id, turn, options);
  if (waitMs === 0 && !stream) return 0;
  if (!isSettled(view.state)) {
    const whose = options.tenant === DEFAULT_TENANT ? '' : ` --tenant ${options.tenant}`;
    const again = `turnfold result ${id} ${turn}${whose} --wait ${waitMs / 1_000}`;
    context.output.note(`not settled within ${waitMs / 1_000} s; ${again} goes on waiting`);
  }
  return view.state === 'completed' ? 0 : 1;
}

async function printTurn(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, waitMs, json }: TellOptions,
): Promise<TurnView> {
  const view = await client.result({ tenant, id }, turn, { waitMs });
  if (json) writeJson(output, view);
  else output.line(view.answer?.content ?? describeTurn(view));
  return view;
}

/** Prints a turn's text as it is written, each step's in a paragraph of its own. @returns the turn at the end */
async function followTurn(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, waitMs, json = false }: TellOptions,
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
export function describeTurn({
  turn,
  state,
  failure,
  waiting,
}: Pick<TurnView, 'turn' | 'state' | 'failure' | 'waiting'>): string {
  if (failure !== undefined) return `${turn}  ${state}  ${failure.code}: ${failure.message}`;
  if (waiting === undefined) return `${turn}  ${state}`;
  const { for: what, calls, until } = waiting;
  const which = calls.length === 0 ? '' : ` of ${calls.join(', ')}`;
  return `${turn}  ${state}  for ${what}${which}, until ${new Date(until).toISOString()}`;
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
