import { takeFirstWords } from '../../domain/conversation-about.ts';
import { fieldError, isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { nameConversation } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { writeTurnContext } from '../../domain/turn-context.ts';
import { writeTurnOwn } from '../../domain/turn-own.ts';
import type { AcceptRequest, AcceptResult } from '../../store/turn-intake.ts';
import type { TurnIntake } from '../../store/turns.ts';
import type { Methods } from '../contract/client.ts';
import type { EnqueueAnswer, EnqueuedTurn } from '../contract/enqueue.ts';
import { type EnqueueInput, enqueueSchema, turnListSchema } from '../contract/enqueue-input.ts';
import {
  agentConflict,
  beingCopied,
  checkDurability,
  nameRepeatable,
  noTurn,
  notFailed,
  ownerConflict,
} from './client-errors.ts';
import { hashPayload } from './payload-hash.ts';
import type { ClientPorts } from './ports.ts';
import { checkContents, weighMessage } from './weigh-message.ts';

export const enqueueMethods = {
  /**
   * Stores a turn. Once this function returns, the turn will be settled exactly once, in order (invariant I2).
   * @throws invalid_input, message_too_large, turn_conflict, agent_conflict, conversation_forking, fork_abandoned,
   * mailbox_full, conversation_busy, accepted_unsure, redis_unavailable, redis_full
   */
  enqueueTurn: async (ports, input) => {
    return await acceptPrepared(ports, await prepareTurn(ports, input));
  },
  /**
   * Sends conversations in parallel, and the turns of one conversation in order.
   * @throws invalid_input if the list is no list or has too many turns
   */
  enqueueTurns: async (ports, inputs) => {
    const list = parseInput(turnListSchema, inputs, 'turns') as EnqueueInput[]; // `prepareTurn` checks each turn
    const answers = new Map<number, EnqueueAnswer>();
    const prepared: { readonly at: number; readonly turn: PreparedTurn }[] = [];
    for (const [at, input] of list.entries()) {
      try {
        prepared.push({ at, turn: await prepareTurn(ports, input) });
      } catch (error) {
        answers.set(at, refused(error));
      }
    }
    const byConversation = Map.groupBy(prepared, ({ turn: { request } }) => {
      const { tenant, id } = request.conversation;
      return `${tenant}/${id}`;
    });
    const ends = await Promise.allSettled(
      [...byConversation.values()].map(async (turns) => {
        let outage: EnqueueAnswer | undefined;
        for (const { at, turn } of turns) {
          // A later turn must not overtake an earlier turn whose acceptance is unknown.
          const answer = outage ?? (await accept(ports, turn));
          answers.set(at, answer);
          const isUnknown = answer.status === 'refused' && answer.error.code === 'redis_unavailable';
          if (isUnknown) outage ??= notTried(answer.error);
        }
      }),
    );
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return [...answers].toSorted(([a], [b]) => a - b).map(([, answer]) => answer);
  },
} satisfies Methods<EnqueuePorts>;

/** Ports that the inbox of a worker has, too. */
export interface EnqueuePorts extends Pick<ClientPorts, 'counterFor' | 'wakes' | 'ids' | 'currentTrace'> {
  readonly turns: Pick<TurnIntake, 'accept'>;
}

interface PreparedTurn {
  readonly request: TurnToAccept;
  readonly isNamed: boolean;
}

async function prepareTurn(ports: EnqueuePorts, input: EnqueueInput): Promise<PreparedTurn> {
  // Owner and title belong to the conversation, so a repeated call may have others.
  const { conversation: id, tenant, agent, turn: named, owner, title, ...rest } = parseInput(enqueueSchema, input);
  const context = rest.context === undefined ? undefined : writeTurnContext(rest.context);
  const { parts } = rest;
  checkContents({ parts }, '');
  const message = { role: 'user' as const, content: rest.input, ...(parts !== undefined && { parts }) };
  const request = {
    conversation: { tenant, id },
    turn: named ?? ports.ids.next(),
    agent,
    owner,
    title: title ?? takeFirstWords(rest.input),
    input: await weighMessage(await ports.counterFor(agent), message, 'input'),
    payloadHash: hashPayload([agent, { ...rest, context }]),
    context,
    own: writeTurnOwn(rest),
    metadata: rest.metadata,
    maxQueuedTurns: rest.maxQueuedTurns ?? TURN_LIMITS.maxQueuedTurns,
    delayMs: rest.delayMs,
    onBusy: rest.onBusy,
    busyTurn: rest.busyTurn,
    caps: { deadlineMs: rest.deadlineMs, maxTurnTokens: rest.maxTurnTokens },
    priority: rest.priority,
  };
  return { request, isNamed: named !== undefined };
}

async function acceptPrepared(ports: EnqueuePorts, prepared: PreparedTurn): Promise<EnqueuedTurn> {
  const accepted = await acceptTurn(ports, prepared.request);
  // Nothing else knows an id that this call made. If Redis has the turn, an earlier attempt of this call stored it.
  return prepared.isNamed ? accepted : { ...accepted, isNew: true };
}

interface TurnToAccept extends Omit<AcceptRequest, 'wake' | 'traceParent'> {
  readonly priority: number | undefined;
}

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
  result: Refused,
): TurnfoldError {
  switch (result.status) {
    case 'conflict': {
      const why = `${turn} was accepted before with another input, context or option. Use a new turn id`;
      return fieldError('turn_conflict', 'turn', why);
    }
    case 'forking':
      return beingCopied(conversation, result);
    case 'other_agent':
      return agentConflict(conversation, result.agent);
    case 'other_owner':
      return ownerConflict(conversation);
    case 'full': {
      const { queued } = result;
      const why =
        `the conversation has ${queued} of at most ${maxQueuedTurns} turns that are queued, running or waiting. ` +
        'Try again once turns have settled';
      return fieldError('mailbox_full', 'conversation', why, { details: { queued } });
    }
    case 'busy': {
      const { queued } = result;
      const why = `onBusy is reject, and the conversation has turns that are queued or in flight (${queued}). Try again once they have settled`;
      return fieldError('conversation_busy', 'conversation', why, { details: { queued } });
    }
    case 'not_failed':
      return result.state === undefined ? noTurn(conversation, redriveOf) : notFailed(redriveOf, result.state);
  }
}

async function accept(ports: EnqueuePorts, turn: PreparedTurn): Promise<EnqueueAnswer> {
  try {
    return { status: 'enqueued', ...(await acceptPrepared(ports, turn)) };
  } catch (error) {
    return refused(error);
  }
}

function refused(error: unknown): EnqueueAnswer {
  if (isTurnfoldError(error)) return { status: 'refused', error };
  throw error;
}

function notTried({ code }: TurnfoldError): EnqueueAnswer {
  const why = 'the turn was not sent, because Redis did not answer to an earlier turn of its conversation';
  return { status: 'refused', error: new TurnfoldError(code, why) };
}
