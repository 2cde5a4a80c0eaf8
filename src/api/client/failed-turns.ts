import { fieldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { writeContext } from '../../domain/turn-context.ts';
import type { FailedTurn } from '../../store/failed-turns.ts';
import { type EnqueuedTurn, type RedriveInput, redriveSchema } from '../contract/enqueue.ts';
import { type ConversationName, readConversationName, readTurnId } from '../contract/names.ts';
import { type FailedInput, failedSchema } from '../contract/turns.ts';
import { noTurn, notFailed } from './client-errors.ts';
import { hashPayload } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { acceptTurn } from './turns.ts';

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
  const { since = 0, ...query } = parseInput(failedSchema, input);
  return await ports.turns.listFailed({ since, ...query });
}
