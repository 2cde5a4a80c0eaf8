import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { TurnState } from '../../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import type { EarlyStops } from '../front-end/early-stops.ts';
import { readTurn } from '../front-end/reads.ts';
import { findLastAttempt, nameTurn } from './turn-names.ts';

const unnamed = 'expected the id of the message to stop, because a stop without a name could end a later message';

export const stopRequestSchema = z
  .looseObject({
    messageId: z
      .string({ error: unnamed })
      .pipe(idSchema)
      .describe("The last message of the page: the answer, or the user's message while it has no answer."),
  })
  .meta({ id: 'StopRequest', examples: [{ messageId: 'm1' }] });

interface Stopping {
  readonly body: unknown;
  readonly stops: EarlyStops;
  readonly left: AbortSignal;
}

export async function stopChat(
  backend: Backend,
  id: string,
  { body, stops, left }: Stopping,
): Promise<{ readonly turn: string; readonly state: TurnState }> {
  const { messageId } = parseInput(stopRequestSchema, body ?? {});
  const names = [messageId, nameTurn(messageId, 1)].map((turn) => [backend.tenant, id, turn] as const);
  const stopping = { checkAccess: () => backend.checkAccess(id), left };
  const [named, other] = (await stops.find(names, () => findTurns(backend, id, messageId), stopping)) ?? [];
  if (named === undefined) {
    const why = `the chat has no turn for message ${messageId}. If the message comes within a minute, its turn is canceled`;
    throw fieldError('not_found', 'messageId', why);
  }
  if (other !== undefined) {
    const why = `this id matches two turns: ${named} by its answer, and ${other} by its user message. Cancel one of them by its turn id`;
    throw fieldError('conflict', 'messageId', why);
  }
  return { turn: named, state: await backend.client.cancel(backend.nameOf(id), named) };
}

/** The id of an answer is its turn. The id of a user message stands for the last attempt to answer the message. */
async function findTurns(backend: Backend, id: string, messageId: string): Promise<readonly string[] | undefined> {
  const attempt = nameTurn(messageId, await findLastAttempt(backend, id, messageId));
  const found = await Promise.all([messageId, attempt].map((turn) => readTurn(backend, id, turn)));
  const turns = found.flatMap((view) => (view === undefined ? [] : [view.turn]));
  return turns.length === 0 ? undefined : turns;
}
