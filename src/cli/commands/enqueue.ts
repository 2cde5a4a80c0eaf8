import { isSettled, type TurnView } from '../../domain/turn.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../output.ts';

export interface EnqueueOptions {
  readonly agent: string;
  readonly tenant: string;
  readonly turn?: string;
  /** ms to wait for the answer; 0 returns once the turn is accepted */
  readonly waitMs: number;
  readonly json?: boolean;
}

/** Enqueues one turn and, where asked to, waits for its answer. @returns the exit code: 1 where it waited and there is none */
export async function enqueue(
  { client, output }: CommandContext,
  id: string,
  text: string,
  options: EnqueueOptions,
): Promise<number> {
  const { agent, tenant, turn, waitMs } = options;
  const asked = { conversation: id, tenant, agent, input: text, ...(turn === undefined ? {} : { turn }) };
  const accepted = await client.enqueueTurn(asked);
  if (waitMs === 0) {
    if (options.json) writeJson(output, accepted);
    else output.line(`${accepted.turn}  ${accepted.state}`);
    return 0;
  }
  const view = await client.result({ tenant, id }, accepted.turn, { waitMs });
  if (options.json) writeJson(output, view);
  else output.line(view.answer?.content ?? describeTurn(view));
  if (!isSettled(view.state)) {
    output.note(`not settled within ${waitMs / 1_000} s; the same call with --turn ${accepted.turn} goes on waiting`);
  }
  return view.state === 'completed' ? 0 : 1;
}

/** A turn without an answer, in one line. */
export function describeTurn({ turn, state, failure, waiting }: TurnView): string {
  const why = failure === undefined ? '' : `  ${failure.code}: ${failure.message}`;
  return `${turn}  ${state}${waiting === undefined ? why : `  for ${waiting.for}`}`;
}
