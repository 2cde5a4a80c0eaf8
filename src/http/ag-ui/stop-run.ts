import { z } from 'zod';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { TURN_STATES, type TurnState } from '../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import type { Backend } from '../front-end/backend.ts';
import { turnOf } from './message-names.ts';

const unnamed = 'expected the run to stop, or a `messageId` of it, because a stop without a name could end a later run';

const stopSchema = z
  .looseObject({
    threadId: idSchema,
    runId: idSchema.optional().describe('The run that began the turn. A run that resumes continues its turn.'),
    messageId: z.string().optional().describe('A message that the run has sent, instead of the run.'),
  })
  .refine(({ runId, messageId }) => (runId === undefined) !== (messageId === undefined), {
    path: ['runId'],
    message: unnamed,
  })
  .meta({ id: 'StopRun', examples: [{ threadId: 'support-42', runId: 'r1' }] });

/** AG-UI names no route for a stop: a client that aborts a run ends only its own connection. */
export const stopRunRoute: ProtocolRoute = {
  operation: 'stopRun',
  method: 'post',
  path: '/v1/ag-ui/stop',
  scopes: ['enqueue'],
  summary: 'Cancel the turn of a run of AG-UI. A turn that has ended stays as it is, and the answer has its state.',
  body: stopSchema,
  results: { 'application/json': z.looseObject({ turn: idSchema, state: z.enum(TURN_STATES) }) },
};

/** @throws invalid_input without a name, not_found for an unknown one */
export async function stopRun(
  { client, nameOf }: Backend,
  body: unknown,
): Promise<{ readonly turn: string; readonly state: TurnState }> {
  const { threadId, runId, messageId = '' } = parseInput(stopSchema, body);
  const turn = runId ?? parseInput(idSchema, turnOf(messageId), 'messageId');
  return { turn, state: await client.cancel(nameOf(threadId), turn) };
}
