import { isAnswerKind, type TurnState, type Waiting } from './turn.ts';

/** With the answer to its last call, a turn waits only for a worker. @param state as recorded */
export function viewWait<State extends TurnState>(
  state: State,
  waiting: Waiting | undefined,
): { readonly state: State | 'queued'; readonly waiting?: Waiting } {
  if (state !== 'waiting' || waiting === undefined) return { state };
  const isOver = isAnswerKind(waiting.for) && waiting.calls.every(({ decision }) => decision !== undefined);
  return isOver ? { state: 'queued' } : { state, waiting };
}
