import { isMapping } from '../../../domain/parse.ts';
import type { EnqueueAnswer, EnqueuedTurn, EnqueueInput } from '../../client/index.ts';
import { STATE_HEADER } from '../../contract/enqueue.ts';
import { callClient } from '../call-client.ts';
import { foreignTenant } from '../caller.ts';
import { explainError, type Problem } from '../problem.ts';
import { type Call, type Handlers, type JsonAnswer, locate } from '../route.ts';

export const turnHandlers: Handlers = {
  enqueueTurn: async (call) => accepted(call, await callClient<'enqueueTurn'>(call)),
  redrive: async (call) => accepted(call, await callClient<'redrive'>(call)),
  enqueueTurns: async (call) => {
    const { client, caller, body } = call;
    const isOwn = (turn: unknown): boolean =>
      !isMapping(turn) || turn['tenant'] === undefined || turn['tenant'] === caller.tenant;
    const own = body.turns.filter(isOwn);
    const answers = (await client.enqueueTurns(own.map((turn) => bindTenant(turn, caller.tenant)))).values();
    const turns = body.turns.map((turn) => {
      const answer = isOwn(turn) ? answers.next().value : undefined;
      return answer === undefined
        ? { problem: explain(call, foreignTenant(caller.tenant)) }
        : describeAnswer(call, answer);
    });
    return { body: { turns } };
  },
  showTurn: async ({ client, name, param }) => ({ body: await client.result(name, param('turn')) }),
  result: async ({ client, name, param, query: { waitMs }, readers, request }) => {
    const turn = param('turn');
    return await readers.run(request, async (signal) => {
      try {
        return { body: await client.result(name, turn, { waitMs, signal }) };
      } catch (error) {
        if (!signal.aborted) throw error;
        return { body: await client.result(name, turn) };
      }
    });
  },
};

function accepted(call: Call, { conversation, turn, state, isNew }: EnqueuedTurn): JsonAnswer {
  return {
    body: { conversation, turn },
    headers: {
      location: locate(call, conversation, 'turns', turn),
      [STATE_HEADER]: state,
      ...(!isNew && { 'idempotency-replayed': 'true' }),
    },
  };
}

/** The client checks the turn. */
function bindTenant(turn: unknown, tenant: string): EnqueueInput {
  return (isMapping(turn) ? { ...turn, tenant } : turn) as EnqueueInput;
}

function describeAnswer(call: Pick<Call, 'onError'>, answer: EnqueueAnswer): object {
  if (answer.status === 'refused') return { problem: explain(call, answer.error) };
  const { conversation, turn, state, isNew } = answer;
  return { conversation, turn, state, isNew };
}

function explain({ onError }: Pick<Call, 'onError'>, error: unknown): Problem {
  return explainError(error, onError).problem;
}
