import { z } from 'zod';
import { ANSWER_KINDS, TURN_STATES } from '../../../domain/turn.ts';
import { redriveSchema } from '../../client/failed-turns.ts';
import type { EnqueuedTurn } from '../../client/index.ts';
import { answerOptionsSchema, answersSchema, enqueueSchema } from '../../client/input.ts';
import { rollbackSchema } from '../../client/versions.ts';
import { namedVersionSchema } from '../answers/conversations.ts';
import { turnStepsSchema } from '../answers/turn-steps.ts';
import { enqueuedSchema, failedTurnsSchema, openTurnsSchema, turnSchema, waitingPageSchema } from '../answers/turns.ts';
import { readOperation } from '../idempotency-key.ts';
import { type Call, defineRoute, type JsonAnswer, locate, STATE_HEADER } from '../route.ts';
import { hideTenant, limitOf, MAX_WAIT_MS, pageFields } from './fields.ts';

const { conversation: _conversation, tenant: _tenant, ...enqueueFields } = enqueueSchema.shape;
const TURN = '/v1/conversations/{conversation}/turns/{turn}';

/** Time that `GET …/result` waits if the caller names none, in ms. Proxies often end a request after 60 s. */
const RESULT_WAIT_MS = 30_000;

const enqueueTurn = defineRoute({
  operation: 'enqueueTurn',
  method: 'post',
  path: '/v1/conversations/{conversation}/turns',
  scope: 'enqueue',
  summary: 'Send a message to an agent. The turn is stored durably before the answer.',
  hasKey: true,
  body: z.strictObject(enqueueFields),
  status: 202,
  result: enqueuedSchema,
  handle: async (call) => {
    const { client, name, body } = call;
    const turn = readOperation(call, body.turn, 'turn');
    return accepted(call, await client.enqueueTurn({ ...(body as EnqueueBody), ...name, turn }));
  },
});

type EnqueueBody = Parameters<Call['client']['enqueueTurn']>[0];

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

const listOpenTurns = defineRoute({
  operation: 'listOpenTurns',
  method: 'get',
  path: '/v1/conversations/{conversation}/turns',
  scope: 'read',
  summary: 'List the unsettled turns of a conversation in the order in which they run.',
  query: z.strictObject({
    limit: limitOf(1_000),
    inputs: z.stringbool().default(false).describe('true: show the texts of turns that no worker has claimed.'),
  }),
  result: openTurnsSchema,
  handle: async ({ client, name, query }) => ({ body: await client.openTurns(name, query) }),
});

const showTurn = defineRoute({
  operation: 'showTurn',
  method: 'get',
  path: TURN,
  scope: 'read',
  summary: 'Show the state of a turn: its answer, its failure or the calls that it waits for.',
  result: turnSchema,
  handle: async ({ client, name, param }) => ({ body: await client.result(name, param('turn')) }),
});

const showSteps = defineRoute({
  operation: 'showSteps',
  method: 'get',
  path: `${TURN}/steps`,
  scope: 'read',
  summary: 'Show the model and tool calls of a turn with their times, and the attempt and lease of its worker.',
  result: turnStepsSchema,
  handle: async ({ client, name, param }) => ({ body: { ...(await client.steps(name, param('turn'))) } }),
});

const awaitResult = defineRoute({
  operation: 'awaitResult',
  method: 'get',
  path: `${TURN}/result`,
  scope: 'read',
  summary: 'Wait until a turn has settled, then show it. After `waitMs` the answer is its present state.',
  query: z.strictObject({
    waitMs: z.coerce.number().int().min(0).max(MAX_WAIT_MS).default(RESULT_WAIT_MS),
  }),
  result: turnSchema,
  handle: async ({ client, name, param, query: { waitMs }, readers, request }) => {
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
});

const cancelTurn = defineRoute({
  operation: 'cancelTurn',
  method: 'post',
  path: `${TURN}/cancel`,
  scope: 'enqueue',
  summary: 'Settle a turn as canceled. The answer is the state afterwards, e.g. completed if the turn settled first.',
  result: z.looseObject({ state: z.enum(TURN_STATES) }).meta({ id: 'TurnStateOnly' }),
  handle: async ({ client, name, param }) => ({ body: { state: await client.cancel(name, param('turn')) } }),
});

const answerCalls = defineRoute({
  operation: 'answerCalls',
  method: 'post',
  path: `${TURN}/answers`,
  scope: 'answer',
  summary: 'Answer calls that a turn waits for, with results or with decisions, by call id. All are stored, or none.',
  body: answerOptionsSchema.extend({ answers: answersSchema }),
  result: z.looseObject({ status: z.enum(['answered', 'still_waiting']) }).meta({ id: 'AnswerStatus' }),
  handle: async ({ client, name, param, body: { answers, ...options } }) => ({
    body: { status: await client.answer(name, param('turn'), answers as CallAnswers, options) },
  }),
});

type CallAnswers = Parameters<Call['client']['answer']>[2];

const rollBackTurn = defineRoute({
  operation: 'rollBackTurn',
  method: 'post',
  path: `${TURN}/rollback`,
  scope: 'admin',
  summary: 'Restore the context that was live before a settled turn. The log keeps everything.',
  hasKey: true,
  body: rollbackSchema.default({}),
  isBodyOptional: true,
  result: namedVersionSchema,
  handle: async (call) => {
    const { client, name, param, body } = call;
    const operation = readOperation(call, body.operation);
    return { body: await client.rollBackTurn(name, param('turn'), { ...body, operation }) };
  },
});

const redriveTurn = defineRoute({
  operation: 'redriveTurn',
  method: 'post',
  path: `${TURN}/redrive`,
  scope: 'enqueue',
  summary: 'Enqueue the input of a failed turn again, as a new turn behind all queued ones.',
  hasKey: true,
  body: redriveSchema.default({}),
  isBodyOptional: true,
  status: 202,
  result: enqueuedSchema,
  handle: async (call) => {
    const operation = readOperation(call, call.body.operation);
    return accepted(call, await call.client.redrive(call.name, call.param('turn'), { ...call.body, operation }));
  },
});

const listWaiting = defineRoute({
  operation: 'listWaiting',
  method: 'get',
  path: '/v1/waiting',
  scope: 'read',
  summary: 'List turns of all conversations that wait for a result or a decision, in pages.',
  query: z.strictObject({ ...pageFields, for: z.enum(ANSWER_KINDS).optional() }),
  result: waitingPageSchema,
  handle: async ({ client, caller: { tenant }, query }) => {
    const { turns, ...rest } = await client.waiting({ ...query, tenant });
    return { body: { ...rest, turns: turns.map(hideTenant) } };
  },
});

const listFailed = defineRoute({
  operation: 'listFailedTurns',
  method: 'get',
  path: '/v1/failed-turns',
  scope: 'read',
  summary: 'List failed turns of all conversations in the last seven days, newest first.',
  query: z.strictObject({
    since: z.coerce.number().min(0).optional().describe('Only turns that failed since then, in ms since epoch.'),
    code: z.string().min(1).optional().describe('Only turns that failed with this error code.'),
    limit: limitOf(10_000),
  }),
  result: failedTurnsSchema,
  handle: async ({ client, caller: { tenant }, query }) => {
    const turns = await client.failedTurns({ ...query, tenant });
    return { body: { turns: turns.map(hideTenant) } };
  },
});

export const turnRoutes = [
  enqueueTurn,
  listOpenTurns,
  showTurn,
  showSteps,
  awaitResult,
  cancelTurn,
  answerCalls,
  rollBackTurn,
  redriveTurn,
  listWaiting,
  listFailed,
];
