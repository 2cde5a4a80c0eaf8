import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../output.ts';

export interface EnqueueOptions {
  readonly agent: string;
  readonly tenant: string;
  readonly turn?: string;
  /** ms to wait for the answer; 0 returns once the turn is accepted */
  readonly waitMs: number;
  readonly json: boolean;
}

/** Enqueues one turn and, where asked to, waits for its answer. @returns the exit code: 1 where the turn failed */
export async function enqueue(
  { client, output }: CommandContext,
  id: string,
  text: string,
  options: EnqueueOptions,
): Promise<number> {
  const { agent, tenant, turn, waitMs } = options;
  const accepted = await client.enqueueTurn({
    conversation: id,
    tenant,
    agent,
    input: text,
    ...(turn === undefined ? {} : { turn }),
  });
  if (waitMs === 0) {
    if (options.json) writeJson(output, accepted);
    else output.line(`${accepted.turn}  ${accepted.state}`);
    return 0;
  }
  const view = await client.result({ tenant, id }, accepted.turn, { waitMs });
  if (options.json) writeJson(output, view);
  else
    output.line(
      view.answer?.content ??
        `${view.turn}  ${view.state}${view.failure === undefined ? '' : `  ${view.failure.code}: ${view.failure.message}`}`,
    );
  return view.state === 'failed' ? 1 : 0;
}
