import type { Hono } from 'hono';
import { z } from 'zod';
import type { CallAnswer } from '../../client/index.ts';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { isAnswerKind, type WaitingCall } from '../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { checkShownCall, readJson } from '../front-end/call-names.ts';
import { guardApp, openApp, readBody, streamFrames, writeData } from '../front-end/server-facts.ts';
import { type AgUiEvent, type AgUiMessage, EventTable } from './events.ts';
import { type RunRequest, readRunRequest, runInputSchema } from './run-input.ts';
import { stopRun, stopRunRoute } from './stop-run.ts';

/** Routes of AG-UI for the OpenAPI document. */
export const agUiRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'runAgent',
    method: 'post',
    path: '/v1/ag-ui',
    scopes: ['read', 'enqueue', 'answer'],
    summary: 'Run the agent on a thread by AG-UI 1.0, or resume an interrupted run, and stream its events.',
    body: runInputSchema,
    results: {
      [EVENT_STREAM]: z.looseObject({ type: z.string() }).meta({ id: 'AgUiEvent', description: 'An event of AG-UI.' }),
    },
  },
  stopRunRoute,
];

/**
 * AG-UI 1.0: a route that runs the agent, and one that stops a run, to be mounted in a server.
 * @throws invalid_config without `authenticate`
 */
export function agUiApp(options: FrontEndOptions): Hono {
  return guardApp(openAgUi(options), agUiRoutes, options);
}

/** The routes for a server that checks its callers. */
export function openAgUi(options: BackendOptions): Hono {
  const app = openApp();
  app.post('/v1/ag-ui', async (context) => {
    const backend = await openBackend(options, context);
    const body = await readBody(context);
    const request = readRunRequest(body);
    const table = openTable(request);
    return await streamFrames(context, (left) => streamRun({ backend, request, table, left }), {
      writeFailure: ({ code, message }) => writeAll(table.fail(code, message)),
    });
  });
  app.post('/v1/ag-ui/stop', async (context) => {
    const backend = await openBackend(options, context);
    return context.json(await stopRun(backend, await readBody(context)));
  });
  return app;
}

function openTable({ threadId, runId, turn, messages, answers }: RunRequest): EventTable {
  const answered = answers && new Set(Object.keys(answers));
  return new EventTable({ threadId, runId, turn, messages, ...(answered && { answered }) });
}

interface OpenRun {
  readonly backend: Backend;
  readonly request: RunRequest;
  readonly table: EventTable;
  /** Aborts when the front-end leaves. */
  readonly left: AbortSignal;
}

async function* streamRun({ backend, request, table, left }: OpenRun): AsyncGenerator<string> {
  const { threadId, runId, turn, messages, isRepeated = false, answers } = request;
  yield writeData({ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' });
  if (isRepeated) yield writeData({ type: 'MESSAGES_SNAPSHOT', messages });
  await (answers === undefined ? beginTurn(backend, request) : answerCalls(backend, request));
  const { client, nameOf } = backend;
  for await (const part of client.stream(nameOf(threadId), turn, { signal: left })) {
    yield writeAll(table.add(part));
    if (table.isDone) return;
  }
}

function writeAll(events: readonly AgUiEvent[]): string {
  return events.map(writeData).join('');
}

/** A turn has the id of its run, so a repeated request streams the same turn from its start. */
async function beginTurn({ client, agent, tenant, nameOf }: Backend, request: RunRequest): Promise<void> {
  const { threadId: conversation, turn, input = '' } = request;
  const open = await client.openTurns(nameOf(conversation)).catch((error: unknown) => {
    if (!isTurnfoldError(error, 'not_found')) throw error;
  });
  const first = open?.turns[0];
  if (first?.waiting !== undefined && isAnswerKind(first.waiting.for) && first.turn !== turn) {
    const calls = first.waiting.calls.map(({ id }) => id).join(', ');
    throw fieldError('conversation_busy', 'threadId', `the thread waits for answers to ${calls}. Answer them first`);
  }
  await client.enqueueTurn({ conversation, tenant, agent, turn, input });
}

/** Answers every open interrupt, or none. A repeated request changes nothing. */
async function answerCalls({ client, nameOf }: Backend, request: RunRequest): Promise<void> {
  const { threadId, turn, messages, answers = {} } = request;
  const { waiting } = await client.result(nameOf(threadId), turn);
  const open = waiting?.calls.filter(({ decision }) => decision === undefined) ?? [];
  const missing = waiting?.for === 'approval' ? open.filter(({ id }) => !Object.hasOwn(answers, id)) : [];
  if (missing.length > 0) {
    const ids = missing.map(({ id }) => id).join(', ');
    throw fieldError(
      'conflict',
      'resume',
      `the thread also waits for answers to ${ids}. Answer all interrupts at once`,
    );
  }
  const named = Object.entries(answers).map(([id, answer]) => {
    const call = waiting?.calls.find((one) => one.id === id);
    return [id, call === undefined || answer.hash !== undefined ? answer : nameAnswer(messages, call, answer)] as const;
  });
  await client.answer(nameOf(threadId), turn, Object.fromEntries(named));
}

const shownCallSchema = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });

/** A tool message has only the id of its call. The message that made the call tells which call the front-end shows. */
function nameAnswer(messages: readonly AgUiMessage[], call: WaitingCall, answer: CallAnswer): CallAnswer {
  const made = messages.flatMap(({ toolCalls }) => (Array.isArray(toolCalls) ? (toolCalls as unknown[]) : []));
  const shown = made.map((one) => shownCallSchema.safeParse(one).data).findLast((one) => one?.id === call.id);
  if (shown === undefined) return answer;
  const { name, arguments: written } = shown.function;
  return { ...answer, hash: checkShownCall(call, { name, input: readJson(written) }, 'messages') };
}
