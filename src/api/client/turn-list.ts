import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import type { EnqueueAnswer } from '../contract/enqueue.ts';
import { type EnqueueInput, turnListSchema } from '../contract/enqueue-input.ts';
import { acceptPrepared, type EnqueuePorts, type PreparedTurn, prepareTurn } from './turns.ts';

/**
 * Stores many turns durably. All scripts that accept turns are sent together, and then all wakes, so the call takes about two
 * round trips.
 * Turns of one conversation keep the order of the list, and are therefore sent one after the other.
 * @returns the answer to each turn, in the order of the list. A refused turn does not stop the others.
 * @throws invalid_input if the list is no list or has too many turns
 */
export async function enqueueTurns(ports: EnqueuePorts, inputs: readonly EnqueueInput[]): Promise<EnqueueAnswer[]> {
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
        if (answer.status === 'refused' && answer.error.code === 'redis_unavailable') outage ??= notTried(answer.error);
      }
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return [...answers].toSorted(([a], [b]) => a - b).map(([, answer]) => answer);
}

async function accept(ports: EnqueuePorts, turn: PreparedTurn): Promise<EnqueueAnswer> {
  try {
    return { status: 'enqueued', ...(await acceptPrepared(ports, turn)) };
  } catch (error) {
    return refused(error);
  }
}

/**
 * Makes the answer of a refused turn from its error.
 * @throws the given error, if it is no TurnfoldError and therefore no refusal of this turn
 */
function refused(error: unknown): EnqueueAnswer {
  if (isTurnfoldError(error)) return { status: 'refused', error };
  throw error;
}

function notTried({ code }: TurnfoldError): EnqueueAnswer {
  const why = 'the turn was not sent, because Redis did not answer to an earlier turn of its conversation';
  return { status: 'refused', error: new TurnfoldError(code, why) };
}
