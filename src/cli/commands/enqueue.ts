import { isSettled, type TurnView } from '../../domain/turn.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../output.ts';
import { describeTurn, followTurn } from './follow-turn.ts';

export interface EnqueueOptions {
  readonly agent: string;
  readonly tenant: string;
  readonly turn?: string;
  /** ms to wait for the answer; 0 returns once the turn is accepted, or streams until it is settled */
  readonly waitMs: number;
  /** print the text as it is written */
  readonly stream?: boolean;
  readonly json?: boolean;
}

/** Enqueues one turn and, where asked to, waits for its answer. @returns the exit code: 1 where it waited and there is none */
export async function enqueue(
  context: CommandContext,
  id: string,
  text: string,
  options: EnqueueOptions,
): Promise<number> {
  const { client, output } = context;
  const { agent, tenant, turn, waitMs, stream = false } = options;
  const asked = { conversation: id, tenant, agent, input: text, ...(turn === undefined ? {} : { turn }) };
  const accepted = await client.enqueueTurn(asked);
  if (waitMs === 0 && !stream) {
    if (options.json) writeJson(output, accepted);
    else output.line(`${accepted.turn}  ${accepted.state}`);
    return 0;
  }
  const view = stream
    ? await followTurn(context, id, accepted.turn, options)
    : await printResult(context, id, accepted.turn, options);
  if (!isSettled(view.state)) {
    output.note(`not settled within ${waitMs / 1_000} s; the same call with --turn ${accepted.turn} goes on waiting`);
  }
  return view.state === 'completed' ? 0 : 1;
}

async function printResult(
  { client, output }: CommandContext,
  id: string,
  turn: string,
  { tenant, waitMs, json }: EnqueueOptions,
): Promise<TurnView> {
  const view = await client.result({ tenant, id }, turn, { waitMs });
  if (json) writeJson(output, view);
  else output.line(view.answer?.content ?? describeTurn(view));
  return view;
}
