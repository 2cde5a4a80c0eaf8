import { z } from 'zod';
import { isMapping } from '../../../domain/parse.ts';
import type { EnqueueAnswer } from '../../client/index.ts';
import { turnListSchema } from '../../client/input.ts';
import { turnListAnswerSchema } from '../answers/turns.ts';
import { foreignTenant } from '../caller.ts';
import { explainError, type Problem } from '../problem.ts';
import { type Call, defineRoute } from '../route.ts';

/** Accepts turns of several conversations. The list in the answer has the order of the request. */
export const enqueueTurns = defineRoute({
  operation: 'enqueueTurns',
  method: 'post',
  path: '/v1/turns',
  scope: 'enqueue',
  summary:
    'Send messages to agents, in several conversations. Each turn has its own answer. A refused one does not stop the others.',
  body: z.strictObject({
    turns: turnListSchema.describe(
      'Turns with the fields of `enqueueTurn` and `conversation`. Give each a `turn` id, so that the request can be repeated.',
    ),
  }),
  result: turnListAnswerSchema,
  handle: async (call) => {
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
});

type Turn = Parameters<Call['client']['enqueueTurns']>[0][number];

/** The client checks the turn. */
function bindTenant(turn: unknown, tenant: string): Turn {
  return (isMapping(turn) ? { ...turn, tenant } : turn) as Turn;
}

function describeAnswer(call: Pick<Call, 'onError'>, answer: EnqueueAnswer): object {
  if (answer.status === 'refused') return { problem: explain(call, answer.error) };
  const { conversation, turn, state, isNew } = answer;
  return { conversation, turn, state, isNew };
}

function explain({ onError }: Pick<Call, 'onError'>, error: unknown): Problem {
  return explainError(error, onError).problem;
}
