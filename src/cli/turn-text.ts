import type { HeardPart } from '../client/index.ts';
import { DEFAULT_TENANT, type NamedConversation } from '../domain/ids.ts';
import { isAnswerKind, type TurnView, type Waiting, type WaitingCall } from '../domain/turn.ts';
import type { Output } from './output.ts';

type Described = Pick<TurnView, 'turn' | 'state' | 'failure' | 'waiting'>;

/** A turn without an answer: its state in one line, then a line for each call that it waits for. */
export function describeTurn(view: Described): string {
  return [describeState(view), ...describeCalls(view.waiting)].join('\n');
}

/** The state of a turn in one line. */
export function describeState({ turn, state, failure, waiting }: Described): string {
  if (failure !== undefined) return `${turn}  ${state}  ${failure.code}: ${failure.message}`;
  if (waiting === undefined) return `${turn}  ${state}`;
  return `${turn}  ${state}  for ${waiting.for}, until ${new Date(waiting.until).toISOString()}`;
}

/** A line for each call of a wait; the deadlines only where they differ. */
export function describeCalls(waiting: Waiting | undefined): string[] {
  if (waiting === undefined) return [];
  const { calls, until } = waiting;
  return calls.map((call) => {
    const deadline = call.until === until ? '' : `, until ${new Date(call.until).toISOString()}`;
    return `  ${call.id}  ${describeCall(call)}${deadline}`;
  });
}

export function describeCall({ name, arguments: text }: Pick<WaitingCall, 'name' | 'arguments'>): string {
  return `${name}(${text})`;
}

interface TurnName extends NamedConversation {
  readonly turn: string;
}

/** The commands that bring what a turn waits for; what comes by itself needs none. */
export function adviseAnswer({ tenant, conversation, turn }: TurnName, waiting: Waiting | undefined): string[] {
  if (waiting === undefined || !isAnswerKind(waiting.for)) return [];
  const whose = tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`;
  const brings = waiting.for === 'tools' ? '--content <text>' : '--approve (or --deny)';
  return waiting.calls.map((call) => `turnfold answer ${conversation} ${turn} ${call.id}${whose} ${brings}`);
}

/** The text of a turn as it is written, each step's in a paragraph of its own. Knows what stands on the screen of the step. */
export class TurnPage {
  readonly #output: Output;
  #step = 0;
  #shown = '';

  constructor(output: Output) {
    this.#output = output;
  }

  add(part: HeardPart): void {
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
