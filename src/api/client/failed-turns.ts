import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { writeContext } from '../../domain/turn-context.ts';
import type { FailedTurn } from '../../store/failed-turns.ts';
import { noTurn, notFailed } from './client-errors.ts';
import { type ConversationName, readConversationName, readTurnId } from './input.ts';
import { hashPayload } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { acceptTurn, type EnqueuedTurn } from './turns.ts';

export const redriveSchema = z.strictObject({
  /** Id that makes a repeated call return the same new turn. Without an id, a failed turn is re-driven at most once. */
  operation: idSchema.optional(),
  /** Context object of the new turn, because the context of the failed turn was erased when it settled. */
  context: z.unknown().optional(),
  /** Priority of the conversation in the queue: 1 is first. Turns of one conversation keep their order. */
  priority: z.number().int().min(1).max(2_097_151).optional(),
});

const failedSchema = z.strictObject({
  /** Only turns that failed at this time or later, in ms since epoch. */
  since: z.number().min(0).default(0),
  /** Only turns of this tenant. Absent: all tenants. */
  tenant: idSchema.optional(),
  /** Only turns that failed with this error code, e.g. `poison`. */
  code: z.string().min(1).optional(),
  /** Maximum number of turns to return (100). */
  limit: z.number().int().min(1).max(10_000).default(100),
});

export type RedriveInput = z.input<typeof redriveSchema>;
export type FailedInput = z.input<typeof failedSchema>;

/**
 * Enqueues the input of a failed turn again, byte for byte. The log keeps the messages of the failed attempt, and the
 * agent sees them.
 * @throws not_found if the turn does not exist. turn_not_failed if it has not failed. gone if its input was erased.
 * @throws the errors of enqueueTurn
 */
export async function redriveTurn(
  ports: ClientPorts,
  name: ConversationName,
  turn: string,
  input: RedriveInput = {},
): Promise<EnqueuedTurn> {
  const conversation = readConversationName(name);
  const { operation, priority, context: contextInput } = parseInput(redriveSchema, input);
  const context = contextInput === undefined ? undefined : writeContext(contextInput);
  const failed = await ports.turns.readTurn(conversation, readTurnId(turn));
  if (failed === undefined) throw noTurn(conversation, turn);
  const { state, agent, inputSeq: seq } = failed;
  // The state read here may be out of date, because the Redis script checks the state of the turn again. The log
  // contains the input of every failed turn, because each of them has started.
  if (state !== 'failed' || seq === undefined) throw notFailed(turn, state);
  const [entry] = await ports.contexts.readLog(conversation, [{ from: seq, to: seq }]);
  if (entry === undefined)
    throw fieldError('gone', 'turn', `the input of turn ${turn} was erased, so it cannot be enqueued again`);
  const { message, tokens, bytes } = entry;
  return await acceptTurn(ports, {
    conversation,
    turn: `redrive-${hashPayload(operation === undefined ? { turn } : { operation })}`,
    agent,
    input: { message, tokens, bytes },
    payloadHash: hashPayload([agent, message.content, turn, { context, priority }]),
    context,
    maxQueuedTurns: TURN_LIMITS.maxQueuedTurns,
    redriveOf: turn,
    priority,
  });
}

/** @throws invalid_input for an invalid filter */
export async function listFailedTurns(ports: ClientPorts, input: FailedInput = {}): Promise<FailedTurn[]> {
  return await ports.turns.listFailed(parseInput(failedSchema, input));
}
