import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { idSchema } from '../domain/ids.ts';
import { parseInput } from '../domain/parse.ts';
import type { FailedTurn } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import { writeContext } from '../domain/turn-context.ts';
import { noTurn, notFailed } from './client-errors.ts';
import { type ConversationName, readConversationName, readTurnId } from './input.ts';
import type { ClientPorts } from './ports.ts';
import { acceptTurn, type EnqueuedTurn, hashPayload } from './turns.ts';

const redriveSchema = z.strictObject({
  /** the same one again makes no second turn; without it a turn is re-driven once */
  operation: idSchema.optional(),
  /** for the new turn: that of the failed one was erased when it failed */
  context: z.unknown().optional(),
  /** orders conversations, never the turns of one; 1 is first */
  priority: z.number().int().min(1).max(2_097_151).optional(),
});

const failedSchema = z.strictObject({
  /** ms since epoch: failed then or later */
  since: z.number().min(0).default(0),
  /** of this tenant alone */
  tenant: idSchema.optional(),
  /** why they failed, e.g. `poison` */
  code: z.string().min(1).optional(),
  /** so many at most (default 100) */
  limit: z.number().int().min(1).max(10_000).default(100),
});

export type RedriveInput = z.input<typeof redriveSchema>;
export type FailedInput = z.input<typeof failedSchema>;

/**
 * Brings the input of a failed turn again, word for word as the log has it, as a new turn at the tail. The log keeps the
 * failed attempt, and the agent sees it, as it sees all that was said.
 * @throws not_found, turn_not_failed, and what enqueueTurn throws
 */
export async function redriveTurn(
  ports: ClientPorts,
  name: ConversationName,
  turn: string,
  input: RedriveInput = {},
): Promise<EnqueuedTurn> {
  const conversation = readConversationName(name);
  const { operation = '', priority, context: given } = parseInput(redriveSchema, input);
  const context = given === undefined ? undefined : writeContext(given);
  const failed = await ports.turns.readTurn(conversation, readTurnId(turn));
  if (failed === undefined) throw noTurn(conversation, turn);
  const { state, agent, inputSeq: seq } = failed;
  // Said again by the script, which alone decides. A failed turn was claimed, so that its input is in the log.
  if (state !== 'failed' || seq === undefined) throw notFailed(turn, state);
  const [entry] = await ports.contexts.readLog(conversation, [{ from: seq, to: seq }]);
  if (entry === undefined) throw new TurnfoldError('gone', `turn: the input of ${turn} was erased`, { field: 'turn' });
  const { message, tokens, bytes } = entry;
  return await acceptTurn(ports, {
    conversation,
    turn: `redrive-${hashPayload([turn, operation])}`,
    agent,
    input: { message, tokens, bytes },
    payloadHash: hashPayload([agent, message.content, turn, ...(context === undefined ? [] : [context])]),
    ...(context !== undefined && { context }),
    maxQueuedTurns: TURN_LIMITS.maxQueuedTurns,
    redriveOf: turn,
    ...(priority !== undefined && { priority }),
  });
}

/** @throws invalid_input */
export async function listFailedTurns(ports: ClientPorts, input: FailedInput = {}): Promise<FailedTurn[]> {
  const { since, limit, tenant, code } = parseInput(failedSchema, input);
  return await ports.turns.listFailed({
    since,
    limit,
    ...(tenant !== undefined && { tenant }),
    ...(code !== undefined && { code }),
  });
}
