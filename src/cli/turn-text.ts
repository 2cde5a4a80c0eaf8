import type { OpenTurn, TurnPart } from '../api/client/index.ts';
import { DEFAULT_TENANT, type NamedConversation } from '../domain/ids.ts';
import type { ToolProgress } from '../domain/tool-notes.ts';
import { isAnswerKind, type TurnView, type Waiting, type WaitingCall } from '../domain/turn.ts';
import type { Output } from './output.ts';

type DescribedTurn = Pick<TurnView, 'turn' | 'state' | 'failure' | 'waiting' | 'stopped'>;

export function describeTurn(view: DescribedTurn): string {
  return [describeState(view), ...describeCalls(view.waiting)].join('\n');
}

export function describeState({ turn, state, failure, waiting, stopped }: DescribedTurn): string {
  if (failure !== undefined) return `${turn}  ${state}  ${failure.code}: ${failure.message}`;
  if (stopped !== undefined) return `${turn}  ${state}  the text until then is message ${stopped.seq}`;
  if (waiting === undefined) return `${turn}  ${state}`;
  return `${turn}  ${state}  for ${waiting.for}, until ${new Date(waiting.until).toISOString()}`;
}

export function describeOpen(turn: OpenTurn): string {
  const state = describeState(turn);
  return turn.dueAt === undefined ? state : `${state}  for ${new Date(turn.dueAt).toISOString()}`;
}

/** Describes the calls of a wait. A deadline is shown only if it differs from that of the whole wait. */
export function describeCalls(waiting: Waiting | undefined): string[] {
  if (waiting === undefined) return [];
  const { calls, until } = waiting;
  return calls.map((call) => {
    const deadline = call.until === until ? '' : `, until ${new Date(call.until).toISOString()}`;
    return `  ${call.id}  ${describeCall(call)}${deadline}${describeDecision(call.decision)}`;
  });
}

/** Shows the input that will run. An earlier release recorded only the arguments. */
export function describeCall({
  name,
  arguments: text,
  input = text,
}: Pick<WaitingCall, 'name' | 'arguments' | 'input'>): string {
  return `${name}(${input})`;
}

function describeDecision(decision: WaitingCall['decision']): string {
  if (decision === undefined) return '';
  const { approved, at, by } = decision;
  const verb = approved === undefined ? 'answered' : approved ? 'approved' : 'denied';
  return `, ${verb}${by === undefined ? '' : ` by ${by}`} ${new Date(at).toISOString()}`;
}

export function tenantFlag(tenant: string): string {
  return tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`;
}

interface TurnName extends NamedConversation {
  readonly turn: string;
}

/** Lists the commands that answer the calls. A turn that waits for compaction or a retry needs no answer. */
export function adviseAnswer({ tenant, conversation, turn }: TurnName, waiting: Waiting | undefined): string[] {
  if (waiting === undefined || !isAnswerKind(waiting.for)) return [];
  const options = waiting.for === 'tools' ? '--content <text>' : '--approve (or --deny)';
  return waiting.calls
    .filter(({ decision }) => decision === undefined)
    .map(({ id, hash }) => {
      const named = hash === undefined ? '' : ` --hash ${hash}`;
      return `turnfold answer ${conversation} ${turn} ${id}${tenantFlag(tenant)}${named} ${options}`;
    });
}

/** Progress of a tool call, such as `3 of 10 pages`. */
export function describeProgress({ text = '', done, total }: ToolProgress): string {
  const amount = done === undefined ? '' : total === undefined ? String(done) : `${done} of ${total}`;
  return [amount, text].filter(Boolean).join(' ');
}

/** Characters of an emitted value that a terminal shows. `--json` prints it whole. */
const VALUE_CHARACTERS = 200;

function clipJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length <= VALUE_CHARACTERS ? json : `${json.slice(0, VALUE_CHARACTERS)}…`;
}

/** Prints the text of a turn while the model writes it, one paragraph for each model call. */
export class TurnPage {
  readonly #output: Output;
  #step = 0;
  #shown = '';

  constructor(output: Output) {
    this.#output = output;
  }

  add(part: TurnPart): void {
    if (part.type === 'restart') {
      this.breakLine();
      this.#output.note('(the step starts again, ignore its text above)');
    }
    if (part.type === 'progress') this.#output.note(`  ${part.call}  ${describeProgress(part)}`);
    if (part.type === 'data') this.#output.note(`  ${part.call}  ${part.name} ${clipJson(part.data)}`);
    if (part.type !== 'text') return;
    if (part.step !== this.#step) this.breakLine();
    this.#step = part.step;
    this.#shown += part.piece;
    this.#output.text(part.piece);
  }

  /** Prints the answer unless it has been printed piece by piece. */
  end(view: TurnView): void {
    const result = view.answer?.content ?? describeTurn(view);
    const isShown = this.#shown === result;
    this.breakLine();
    if (!isShown) this.#output.line(result);
    if (view.answer?.end !== undefined) this.#output.note(`(answer is incomplete: ${view.answer.end})`);
  }

  breakLine(): void {
    if (this.#shown !== '') this.#output.line('');
    this.#shown = '';
  }
}
