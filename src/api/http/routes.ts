import type { z } from 'zod';
import type { LogEntry, Message } from '../../domain/message.ts';
import { isMapping, parseInput } from '../../domain/parse.ts';
import { readHistoryInSlices } from '../../wire/histories/history.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { eventIdSchema } from '../client/events.ts';
import { importConversation } from '../client/import.ts';
import type { EnqueueAnswer, EnqueuedTurn, EnqueueInput, EventOrLoss, TurnPart } from '../client/index.ts';
import { positionSchema } from '../client/stream-position.ts';
import { type OperationName, operations } from '../contract/client.ts';
import { STATE_HEADER } from '../contract/enqueue.ts';
import { checkScopes } from './access.ts';
import { accessHandlers } from './access-routes.ts';
import { answerByClient, callClient } from './call-client.ts';
import { checkOperator, checkUnbound, foreignTenant } from './caller.ts';
import { contextHandlers } from './contexts.ts';
import { answerEvents, refuseHead, type ServerSentEvent } from './event-stream.ts';
import { openLog } from './front-end/reads.ts';
import { readOperation } from './idempotency-key.ts';
import { answerJson, writeMessages } from './json-answer.ts';
import { explainError, HttpProblem } from './problem.ts';
import { type Call, type JsonAnswer, locate, type Route, type RouteHandlers } from './route.ts';

/*
 * The routes. Most operations need nothing here. `answerByClient` (`call-client.ts`) calls the method that the row
 * names. The row also says how the answer differs from what the method returned.
 *
 * A handler does what a row cannot say. `enqueueTurn`, `redrive` and `fork` have headers. `result` and the streams wait
 * as readers of the server. A stream validates its position before its status is sent. Five operations have no method:
 * `showTurn`, `exportConversation`, `importConversation`, `showAccess` and `showFleet`. The handlers in `contexts.ts`
 * hold whole contexts, so they answer from a share of the server's memory.
 */
const handlers: RouteHandlers = {
  ...contextHandlers,
  ...accessHandlers,
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
        ? { problem: explainError(foreignTenant(caller.tenant), call.onError).problem }
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
  stream: async (call) => {
    const { client, name, param } = call;
    const wait = readWait(call);
    const turn = param('turn');
    const position = readPosition(call, positionSchema);
    // The status of a stream is sent before its first event, so a missing turn must fail here.
    await client.result(name, turn);
    return streamAnswer(call, (signal) => eventsOf(client.stream(name, turn, { ...position, ...wait, signal })));
  },
  events: async (call) => {
    const { client, name } = call;
    const wait = readWait(call);
    const { after: given } = readPosition(call, eventIdSchema);
    const last = await findLastEvent(call, given !== undefined);
    return streamAnswer(call, async function* follow(signal) {
      // A client that is cut off before the first event continues from here.
      if (given === undefined) yield { id: last };
      yield* eventsOf(client.events(name, { after: given ?? last, ...wait, signal }));
      if (!signal.aborted) yield { type: 'end', data: { type: 'end' } };
    });
  },
  updateConversation: async (call) => {
    if (call.body.owner !== undefined) {
      checkScopes(call.caller, ['admin']);
      checkUnbound(call.caller);
    }
    return await answerByClient(call);
  },
  createConversationToken: async (call) => {
    // A token that makes tokens would never expire.
    checkUnbound(call.caller, 'conversation');
    checkScopes(call.caller, call.body.scopes);
    return await answerByClient(call);
  },
  fork: async (call) => {
    const { to, operation: given, ...input } = call.body;
    const operation = readOperation(call, given);
    const target = { tenant: call.caller.tenant, conversation: to };
    const { head } = await call.client.fork(call.name, target, { ...input, operation });
    return { body: { conversation: to, head }, headers: { location: locate(call, to) } };
  },
  proposal: async ({ client, name }) => {
    const { tenant: _, ...proposal } = { tenant: '', ...(await client.proposal(name)) };
    return { body: { proposals: 'proposal' in proposal ? [proposal] : [] } };
  },
  exportConversation: async (call) => {
    const { client, name, request, cut, readers, streams: limits } = call;
    const messages = messagesOf(await openLog(client, name));
    return answerJson({ request, cut, readers, limits, pieces: writeMessages(name.conversation, messages) });
  },
  importConversation: async (call) => {
    const { agent, messages: given, strict, owner, title } = call.body;
    const { messages, notes } = await eventLoopShare.run(
      readHistoryInSlices({ messages: given }, { isStrict: strict }),
    );
    await importConversation(call.client, { ...call.name, agent, messages, owner, title, idField: 'conversation' });
    const { conversation } = call.name;
    const body = { conversation, messages: messages.length, ...(notes.length > 0 && { notes }) };
    return { body, headers: { location: locate(call, conversation) } };
  },
  showAccess: async ({ caller: { tenant, scopes, owner, conversation }, isReadOnly }) => ({
    body: { tenant, scopes, owner, conversation, ...(isReadOnly && { isReadOnly }) },
  }),
  showFleet: async ({ fleet, caller }) => {
    checkOperator(caller);
    if (fleet !== undefined) return { body: await fleet() };
    const why = 'this server does not read the fleet. turnfold serve and turnfold inspect do';
    throw new HttpProblem('not_offered', why, { field: 'fleet' });
  },
};

export const routes: readonly Route[] = Object.entries(operations).map(([name, row]) => {
  const operation = name as OperationName;
  return { ...row, operation, handle: handlers[operation] ?? answerByClient };
});

/** @param needsOnlyCheck true: only check that the conversation exists. Reads at most about 500 events */
async function findLastEvent({ client, name }: Call, needsOnlyCheck: boolean): Promise<string> {
  let last = '0';
  for await (const event of client.events(name, { after: last, waitMs: 0 })) {
    if (needsOnlyCheck) break;
    if ('id' in event) last = event.id;
  }
  return last;
}

function readWait({ query: { waitMs: ms } }: Call<{ waitMs?: number | undefined }>): { readonly waitMs?: number } {
  return ms === undefined ? {} : { waitMs: ms };
}

function readPosition(
  { request, query }: Call<{ after?: string | undefined }>,
  schema: z.ZodType,
): { readonly after?: string } {
  const header = request.headers.get('last-event-id');
  const [id, field] = header === null ? [query.after, 'after'] : [header, 'last-event-id'];
  if (id === undefined || id === '') return {};
  parseInput(schema, id, field);
  return { after: id };
}

async function* eventsOf(parts: AsyncIterable<TurnPart | EventOrLoss>): AsyncGenerator<ServerSentEvent> {
  for await (const part of parts) {
    const { id, ...data } = { id: undefined, ...part };
    yield { ...(id !== undefined && { id }), type: part.type, data };
  }
}

function streamAnswer(
  { request, cut, readers, streams }: Call,
  follow: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>,
): Response {
  refuseHead(request);
  return answerEvents({ request, cut, readers, limits: streams, follow });
}

async function* messagesOf(log: AsyncIterable<LogEntry>): AsyncGenerator<Message> {
  for await (const { message } of log) yield message;
}

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

function bindTenant(turn: unknown, tenant: string): EnqueueInput {
  return (isMapping(turn) ? { ...turn, tenant } : turn) as EnqueueInput;
}

function describeAnswer({ onError }: Call, answer: EnqueueAnswer): object {
  if (answer.status === 'refused') return { problem: explainError(answer.error, onError).problem };
  const { conversation, turn, state, isNew } = answer;
  return { conversation, turn, state, isNew };
}
