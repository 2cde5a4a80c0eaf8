import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../output.ts';
import { readTurnContext } from '../read-turn-context.ts';
import { type TellOptions, tellTurn } from './follow-turn.ts';

export interface EnqueueOptions extends TellOptions {
  readonly agent: string;
  readonly turn?: string;
  /** as it was typed */
  readonly context?: string;
}

/** Enqueues one turn and, where asked to, waits for its answer. @returns the exit code: 1 where it waited and there is none */
export async function enqueue(
  context: CommandContext,
  id: string,
  text: string,
  options: EnqueueOptions,
): Promise<number> {
  const { client, output } = context;
  const { agent, tenant, turn, waitMs, stream = false, json } = options;
  const given = { ...(turn !== undefined && { turn }), ...(await readTurnContext(options.context)) };
  const asked = { conversation: id, tenant, agent, input: text, ...given };
  const accepted = await client.enqueueTurn(asked);
  if (waitMs > 0 || stream) return await tellTurn(context, id, accepted.turn, options);
  if (json) writeJson(output, accepted);
  else output.line(`${accepted.turn}  ${accepted.state}`);
  return 0;
}
