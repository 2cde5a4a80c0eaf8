import { DEFAULT_TENANT, type NamedConversation } from '../domain/ids.ts';
import { isAnswerKind, type TurnView, type Waiting, type WaitingCall } from '../domain/turn.ts';

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
