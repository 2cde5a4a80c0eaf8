import type { Context, Hono } from 'hono';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, type TurnView } from '../../../domain/turn.ts';
import type { StreamOptions } from '../../client/index.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, openApp, readBody, serverFactsOf, streamFrames } from '../front-end/server-facts.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { type CreateRequest, readCreateRequest } from './create-request.ts';
import { createTurn } from './create-turn.ts';
import { type ResponseEvent, ResponseTable, skipRead } from './events.ts';
import { answerResponseError, type ResponseFacts, type ResponseName, readResponseId } from './response-object.ts';
import { readKeyHeader, responsesRoutes, retrieveSchema } from './routes.ts';

/** Routes of the OpenAI Responses API, to be mounted in a server. @throws invalid_config without `authenticate` */
export function responsesApp(options: FrontEndOptions): Hono {
  return guardApp(openResponses(options), responsesRoutes, options, answerResponseError);
}

export function openResponses(options: BackendOptions): Hono {
  const app = openApp(answerResponseError);

  app.post('/v1/responses', async (context) => {
    const backend = await openBackend(options, context);
    const request = readCreateRequest(await readBody(context));
    const { readers, maxWaitMs: waitMs } = serverFactsOf(context);
    if (request.stream || !request.background) readers.checkPlace();
    const name = await createTurn(backend, request, readKeyHeader(context.req.header(IDEMPOTENCY_HEADER)));
    const facts = await readFacts(backend, name, request);
    if (request.stream) return await answerStream(context, backend, facts);
    if (request.background) return context.json(await readResponse(backend, facts, { waitMs: 0 }));
    const wait = (signal: AbortSignal) => readResponse(backend, facts, { waitMs, signal });
    return context.json(await readers.run(context.req.raw, wait));
  });

  app.get('/v1/responses/:id', async (context) => {
    const backend = await openBackend(options, context);
    const { stream, starting_after: after } = parseInput(retrieveSchema, context.req.query());
    const facts = await readFacts(backend, readResponseId(context.req.param('id')));
    if (stream) return await answerStream(context, backend, facts, after);
    return context.json(await readResponse(backend, facts, { waitMs: 0 }));
  });

  app.post('/v1/responses/:id/cancel', async (context) => {
    const backend = await openBackend(options, context);
    const name = readResponseId(context.req.param('id'));
    await backend.client.cancel(backend.nameOf(name.conversation), name.turn);
    return context.json(await readResponse(backend, await readFacts(backend, name), { waitMs: 0 }));
  });
  return app;
}

async function readFacts(backend: Backend, name: ResponseName, request?: CreateRequest): Promise<ResponseFacts> {
  const { client, nameOf } = backend;
  const { agent, acceptedAt } = await client.result(nameOf(name.conversation), name.turn);
  const { background = false, previous } = request ?? {};
  return { name, agent, createdAt: acceptedAt, background, previous };
}

function isQueued({ state }: TurnView): boolean {
  return state === 'queued' || state === 'scheduled';
}

async function answerStream(context: Context, backend: Backend, facts: ResponseFacts, after = -1): Promise<Response> {
  const table = new ResponseTable(facts);
  return await streamFrames(context, (left) => streamResponse({ backend, facts, table, after, left }), {
    writeFailure: (failure) => writeEvents([table.fail(failure, after)], -1),
  });
}

interface OpenResponse {
  readonly backend: Backend;
  readonly facts: ResponseFacts;
  readonly table: ResponseTable;
  readonly after: number;
  readonly left: AbortSignal;
}

async function* streamResponse({ backend, facts, table, after, left }: OpenResponse): AsyncGenerator<string> {
  const { client, nameOf } = backend;
  const { conversation, turn } = facts.name;
  const view = await client.result(nameOf(conversation), turn);
  const parts = client.stream(nameOf(conversation), turn, { signal: left });
  yield writeEvents(table.start(isQueued(view)), after);
  let known = after;
  for await (const part of parts) {
    // When a model step begins again, the numbers of its events do, too.
    if (part.type === 'restart') known = -1;
    yield writeEvents(table.add(part), known);
    if (table.isDone) return;
  }
}

function writeEvents(events: readonly ResponseEvent[], after: number): string {
  return events
    .flatMap((event) => skipRead(event, after) ?? [])
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

/** Waits until the turn has settled, or waits for the caller, or the server stops. */
async function readResponse(
  { client, nameOf }: Backend,
  facts: ResponseFacts,
  options: StreamOptions,
): Promise<object> {
  const { conversation, turn } = facts.name;
  const table = new ResponseTable(facts);
  try {
    for await (const part of client.stream(nameOf(conversation), turn, options)) {
      table.add(part);
      // A turn behind open calls may wait for days.
      if (table.isDone || part.type === 'behind' || (part.type === 'end' && isSettled(part.view.state))) break;
    }
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
  }
  return table.response;
}
