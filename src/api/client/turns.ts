import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import { nameConversation } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { isSettled, TURN_LIMITS, type TurnState, type TurnView } from '../../domain/turn.ts';
import { writeContext } from '../../domain/turn-context.ts';
import type { AcceptRequest, AcceptResult } from '../../store/turn-intake.ts';
import type { TurnIntake } from '../../store/turns.ts';
import type { EnqueuedTurn } from '../contract/enqueue.ts';
import { type EnqueueInput, enqueueSchema } from '../contract/enqueue-input.ts';
import { followSchema } from '../contract/follow-options.ts';
import { type ConversationName, readConversationName, readTurnId } from '../contract/names.ts';
import type { ResultOptions } from '../contract/turns.ts';
import { agentConflict, beingCopied, checkDurability, nameRepeatable, noTurn, notFailed } from './client-errors.ts';
import { hashPayload } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { checkContents, weighMessage } from './weigh-message.ts';

/** Ports that the acceptance of a turn needs. The inbox of a worker process has no more than that. */
export interface EnqueuePorts extends Pick<ClientPorts, 'counterFor' | 'wakes' | 'ids' | 'currentTrace'> {
  readonly turns: Pick<TurnIntake, 'accept'>;
}

/** Interval in ms at which a waiting caller polls Redis, because a notification may be lost. */
export const POLL_MS = 1_000;

/**
 * Stores a turn durably. Once this function returns, the turn is in Redis and will be settled exactly once, in order
 * (invariant I2).
 * @throws with one of these codes, as in docs/reference/errors.md: invalid_input, message_too_large, turn_conflict,
 * agent_conflict, conversation_forking, fork_abandoned, mailbox_full, conversation_busy, accepted_unsure,
 * redis_unavailable, redis_full
 */
export async function enqueueTurn(ports: EnqueuePorts, input: EnqueueInput): Promise<EnqueuedTurn> {
  return await acceptPrepared(ports, await prepareTurn(ports, input));
}

/** A turn whose input was checked and weighed. */
export interface PreparedTurn {
  readonly request: TurnToAccept;
  /** True if the caller named the turn. */
  readonly isNamed: boolean;
}

export async function prepareTurn(ports: EnqueuePorts, input: EnqueueInput): Promise<PreparedTurn> {
  const { conversation: id, tenant, agent, turn: named, ...rest } = parseInput(enqueueSchema, input);
  const context = rest.context === undefined ? undefined : writeContext(rest.context);
  const { parts } = rest;
  checkContents({ parts }, '');
  const message = { role: 'user' as const, content: rest.input, ...(parts !== undefined && { parts }) };
  const request = {
    conversation: { tenant, id },
    turn: named ?? ports.ids.next(),
    agent,
    input: await weighMessage(await ports.counterFor(agent), message, 'input'),
    payloadHash: hashPayload([agent, { ...rest, context }]),
    context,
    maxQueuedTurns: rest.maxQueuedTurns ?? TURN_LIMITS.maxQueuedTurns,
    delayMs: rest.delayMs,
    onBusy: rest.onBusy,
    busyTurn: rest.busyTurn,
    caps: { deadlineMs: rest.deadlineMs, maxTurnTokens: rest.maxTurnTokens },
    priority: rest.priority,
  };
  return { request, isNamed: named !== undefined };
}

export async function acceptPrepared(ports: EnqueuePorts, prepared: PreparedTurn): Promise<EnqueuedTurn> {
  const accepted = await acceptTurn(ports, prepared.request);
  // A generated turn id is known only to this call. So if Redis reports the turn as known, an earlier attempt of this
  // call stored it.
  return prepared.isNamed ? accepted : { ...accepted, isNew: true };
}

export interface TurnToAccept extends Omit<AcceptRequest, 'wake' | 'traceParent'> {
  readonly priority: number | undefined;
}

/**
 * Adds a turn to the mailbox of its conversation and wakes a worker.
 * @throws the errors of enqueueTurn, and turn_not_failed if the turn to repeat has not failed
 */
export async function acceptTurn(ports: EnqueuePorts, { priority, ...request }: TurnToAccept): Promise<EnqueuedTurn> {
  const { conversation, turn } = request;
  const wake = ports.ids.next();
  const name = { field: 'turn', id: turn } as const;
  const result = await nameRepeatable(name, () =>
    ports.turns.accept({ ...request, wake, traceParent: ports.currentTrace() }),
  );
  if (!('needsWake' in result)) throw refuseTurn(request, result);
  if (result.needsWake) await ports.wakes.wake('turn', conversation, wake, priority === undefined ? {} : { priority });
  checkDurability(result, name);
  return { ...nameConversation(conversation), turn, state: result.state, isNew: result.status === 'accepted' };
}

type Refused = Exclude<AcceptResult, { readonly status: 'accepted' | 'known' }>;

function refuseTurn(
  { conversation, turn, redriveOf = turn, maxQueuedTurns }: Omit<TurnToAccept, 'priority'>,
  refused: Refused,
): TurnfoldError {
  switch (refused.status) {
    case 'conflict':
      return fieldError(
        'turn_conflict',
        'turn',
        `${turn} was accepted before with another input, context or option. Use a new turn id`,
      );
    case 'forking':
      return beingCopied(conversation, refused);
    case 'other_agent':
      return agentConflict(conversation, refused.agent);
    case 'full': {
      const { queued } = refused;
      const why =
        `${queued} turns are queued, running or waiting, and maxQueuedTurns is ${maxQueuedTurns}. ` +
        'Try again once turns have settled';
      return fieldError('mailbox_full', 'conversation', why, { details: { queued } });
    }
    case 'busy': {
      const { queued } = refused;
      const why = `${queued} turns are queued or in flight, and onBusy is reject. Try again once they have settled`;
      return fieldError('conversation_busy', 'conversation', why, { details: { queued } });
    }
    case 'not_failed':
      return refused.state === undefined ? noTurn(conversation, redriveOf) : notFailed(redriveOf, refused.state);
  }
}

/**
 * Polls a turn until it is settled or `waitMs` has passed.
 * @throws invalid_input for an invalid id or option. not_found if the turn does not exist. The signal's reason.
 */
export async function readResult(
  ports: ClientPorts,
  name: ConversationName,
  turn: string,
  options: ResultOptions = {},
): Promise<TurnView> {
  const conversation = readConversationName(name);
  readTurnId(turn);
  const { waitMs = 0, signal } = parseInput(followSchema, options);
  const until = ports.now() + waitMs;
  for (;;) {
    signal?.throwIfAborted();
    const view = await ports.turns.readTurn(conversation, turn);
    if (view === undefined) throw noTurn(conversation, turn);
    const leftMs = until - ports.now();
    if (isSettled(view.state) || leftMs <= 0) return view;
    await ports.notifications.wait(conversation, Math.min(leftMs, POLL_MS), signal);
  }
}

/**
 * Cancels a turn.
 * @returns `canceled`, or the state in which the turn had settled before
 * @throws invalid_input for an invalid id. not_found if the turn does not exist.
 * @throws accepted_unsure if too few replicas or disks confirmed the write
 */
export async function cancelTurn(ports: ClientPorts, name: ConversationName, turn: string): Promise<TurnState> {
  const conversation = readConversationName(name);
  const result = await ports.turns.cancel(conversation, readTurnId(turn), ports.ids.next());
  if (result.status === 'not_found') throw noTurn(conversation, turn);
  if (result.status === 'canceled' && result.wake !== undefined) {
    await ports.wakes.wake('turn', conversation, result.wake);
  }
  checkDurability(result, { field: 'turn', id: turn });
  return result.status === 'settled' ? result.state : 'canceled';
}
