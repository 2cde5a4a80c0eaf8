import type { Context, Hono } from 'hono';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, type TurnView } from '../../../domain/turn.ts';
import type { StreamOptions } from '../../client/index.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, openApp, readBody, serverFactsOf, streamFrames } from '../front-end/server-facts.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { renameFields } from '../openai/errors.ts';
import { type CreateRequest, readCreateRequest } from './create-request.ts';
import { createTurn } from './create-turn.ts';
import { type ResponseEvent, ResponseTable, skipRead } from './events.ts';
import { type ResponseName, readResponseId } from './response-names.ts';
import { answerResponseError, type ResponseFacts } from './response-object.ts';
import { readKeyHeader, responsesRoutes, retrieveSchema } from './routes.ts';

/** Routes of the OpenAI Responses API, to be mounted in a server. @throws invalid_config without `authenticate` */
export function responsesApp(options: FrontEndOptions): Hono {
  return guardApp(openResponses(options), responsesRoutes, options, answerResponseError);
}

export function openResponses(options: BackendOptions): Hono {
  const app = openApp(answerResponseError);
  addResponses(app, options, '/v1');
  return app;
}

/** @param base path before `/responses` */
export function addResponses(app: Hono, options: BackendOptions, base: string): void {
  app.post(`${base}/responses`, async (context) => {
    const backend = await openBackend(options, context);
    const request = readCreateRequest(await readBody(context));
    const { readers, maxWaitMs: waitMs } = serverFactsOf(context);
    if (request.stream || !request.background) readers.checkPlace();
    const key = readKeyHeader(context.req.header(IDEMPOTENCY_HEADER));
    const name = await renameFields(FIELDS, () => createTurn(backend, request, key));
    const facts = await readFacts(backend, name, request);
    if (request.stream) return await answerStream(context, { backend, facts, isErased: isErasedAfter(request) });
    if (request.background) return context.json(await readResponse(backend, facts, { waitMs: 0 }));
    const wait = (signal: AbortSignal) => readResponse(backend, facts, { waitMs, signal });
    const response = await readers.run(context.req.raw, wait);
    if (isErasedAfter(request)) await eraseSettled(backend, name);
    return context.json(response);
  });

  app.get(`${base}/responses/:id`, async (context) => {
    const backend = await openBackend(options, context);
    const { stream, starting_after: after } = parseInput(retrieveSchema, context.req.query());
    const facts = await readFacts(backend, readResponseId(context.req.param('id')));
    if (stream) return await answerStream(context, { backend, facts, after });
    return context.json(await readResponse(backend, facts, { waitMs: 0 }));
  });

  app.post(`${base}/responses/:id/cancel`, async (context) => {
    const backend = await openBackend(options, context);
    const name = readResponseId(context.req.param('id'));
    await backend.client.cancel(backend.nameOf(name.conversation), name.turn);
    return context.json(await readResponse(backend, await readFacts(backend, name), { waitMs: 0 }));
  });
}

/** Fields of a turn that have another name in the request. */
const FIELDS = [
  [/^answer\.schema/, 'text.format.schema'],
  [/^answer/, 'text.format'],
  [/^toolChoice/, 'tool_choice'],
  [/^maxOutputTokens/, 'max_output_tokens'],
  [/^(?:agent|turn)$/, 'model'],
] as const;

/** With `store: false`, nothing is left of a conversation that only this request knows. */
function isErasedAfter({ isStored, previous, conversation }: CreateRequest): boolean {
  return !isStored && previous === undefined && conversation === undefined;
}

/** A turn that waits for its caller is kept, because the next request answers its calls. */
async function eraseSettled({ client, nameOf }: Backend, { conversation, turn }: ResponseName): Promise<void> {
  const { state } = await client.result(nameOf(conversation), turn);
  if (isSettled(state)) await client.erase(nameOf(conversation));
}

async function readFacts(backend: Backend, name: ResponseName, request?: CreateRequest): Promise<ResponseFacts> {
  const { client, nameOf } = backend;
  const { agent, acceptedAt } = await client.result(nameOf(name.conversation), name.turn);
  const { background = false, previous, echo } = request ?? {};
  return { name, agent, createdAt: acceptedAt, background, previous, echo };
}

function isQueued({ state }: TurnView): boolean {
  return state === 'queued' || state === 'scheduled';
}

interface StreamedResponse {
  readonly backend: Backend;
  readonly facts: ResponseFacts;
  readonly after?: number | undefined;
  readonly isErased?: boolean;
}

async function answerStream(
  context: Context,
  { backend, facts, after = -1, isErased = false }: StreamedResponse,
): Promise<Response> {
  const table = new ResponseTable(facts);
  return await streamFrames(context, (left) => streamResponse({ backend, facts, table, after, left, isErased }), {
    writeFailure: (failure) => writeEvents([table.fail(failure, after)], -1),
  });
}

interface OpenResponse extends Required<StreamedResponse> {
  readonly after: number;
  readonly table: ResponseTable;
  readonly left: AbortSignal;
}

async function* streamResponse({ backend, facts, table, after, left, isErased }: OpenResponse): AsyncGenerator<string> {
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
    if (table.isDone) break;
  }
  if (isErased && table.isDone) await eraseSettled(backend, facts.name);
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
