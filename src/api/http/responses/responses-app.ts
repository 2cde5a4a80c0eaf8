import type { Context, Hono } from 'hono';
import { isTurnfoldError } from '../../../domain/errors.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, type TurnView } from '../../../domain/turn.ts';
import type { StreamOptions } from '../../client/index.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, openApp, readBody, serverFactsOf, streamFrames } from '../front-end/server-facts.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { renameFields } from '../openai/errors.ts';
import { type CreateRequest, readCreateRequest } from './create-request.ts';
import { createTurn } from './create-turn.ts';
import { type ResponseEvent, ResponseTable } from './events.ts';
import { LeftRequests, printRequest } from './left-requests.ts';
import { type ResponseName, readResponseId, unknownResponse } from './response-names.ts';
import { answerResponseError, type ResponseFacts } from './response-object.ts';
import { readRepeat, responsesRoutes, retrieveSchema } from './routes.ts';

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
  const left = new LeftRequests();
  app.post(`${base}/responses`, async (context) => {
    const backend = await openBackend(options, context);
    const body = await readBody(context);
    const request = readCreateRequest(body);
    if (request.stream || !request.background) serverFactsOf(context).readers.checkPlace();
    const { key: given, isRepeated } = readRepeat((name) => context.req.header(name));
    const answer = async (key: string): Promise<Response> => {
      const name = await renameFields(FIELDS, () => createTurn(backend, request, key));
      return await answerCreated(context, { backend, request, name });
    };
    if (given !== undefined) return await answer(given);
    const print = await printRequest(context, backend, body);
    const { signal } = context.req.raw;
    return await left.run({ print, isRepeated, left: signal, isErased: isErasedAfter(request) }, answer);
  });

  app.get(`${base}/responses/:id`, async (context) => {
    const backend = await openBackend(options, context);
    const { stream, starting_after: after } = parseInput(retrieveSchema, context.req.query());
    const name = readResponseId(context.req.param('id'));
    const facts = await nameResponse(() => readFacts(backend, name));
    if (stream) return await answerStream(context, { backend, facts, after });
    return context.json(await readResponse(backend, facts, { waitMs: 0 }));
  });

  app.post(`${base}/responses/:id/cancel`, async (context) => {
    const backend = await openBackend(options, context);
    const name = readResponseId(context.req.param('id'));
    await nameResponse(() => backend.client.cancel(backend.nameOf(name.conversation), name.turn));
    return context.json(await readResponse(backend, await readFacts(backend, name), { waitMs: 0 }));
  });
}

/** Fields of a turn that have another name in the request. */
const FIELDS = [
  [/^answer\.schema/, 'text.format.schema'],
  [/^answer/, 'text.format'],
  [/^toolChoice/, 'tool_choice'],
  [/^maxOutputTokens/, 'max_output_tokens'],
  [/^agent$/, 'model'],
  [/^turn$/, IDEMPOTENCY_HEADER],
] as const;

/** Names of a turn that routes of one response take from its id. */
const OF_RESPONSE = [[/^(?:turn|conversation)$/, 'response_id']] as const;

/** Says errors of a turn in the words of a client that knows only the id of the response. */
export async function nameResponse<Done>(work: () => Promise<Done>): Promise<Done> {
  return await renameFields(OF_RESPONSE, async () => {
    try {
      return await work();
    } catch (error) {
      throw isTurnfoldError(error, 'not_found') ? unknownResponse(error) : error;
    }
  });
}

interface CreatedResponse {
  readonly backend: Backend;
  readonly request: CreateRequest;
  readonly name: ResponseName;
}

async function answerCreated(context: Context, { backend, request, name }: CreatedResponse): Promise<Response> {
  const { readers, maxWaitMs: waitMs } = serverFactsOf(context);
  const facts = await readFacts(backend, name, request);
  const isErased = isErasedAfter(request);
  if (request.stream) return await answerStream(context, { backend, facts, isErased });
  if (request.background) return context.json(await readResponse(backend, facts, { waitMs: 0 }));
  const { raw } = context.req;
  const response = await readers.run(raw, (signal) => readResponse(backend, facts, { waitMs, signal }));
  if (isErased) await eraseUnstored(backend, name, raw.signal.aborted);
  return context.json(response);
}

/** With `store: false`, nothing is left of a conversation that only this request knows. */
function isErasedAfter({ isStored, previous, conversation }: CreateRequest): boolean {
  return !isStored && previous === undefined && conversation === undefined;
}

/**
 * Erases what a request did not want to be stored. A turn that waits for its caller is kept, because the next request
 * answers its calls.
 * @param hasLeft true: the client left before the answer, which therefore reaches no reader
 */
async function eraseUnstored({ client, nameOf }: Backend, name: ResponseName, hasLeft: boolean): Promise<void> {
  const conversation = nameOf(name.conversation);
  if (hasLeft) await client.cancel(conversation, name.turn);
  const { state } = await client.result(conversation, name.turn);
  if (isSettled(state)) await client.erase(conversation);
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
  const frames = (left: AbortSignal) => streamResponse({ backend, facts, table, after, left });
  const { closing } = serverFactsOf(context).readers;
  return await streamFrames(context, isErased ? (left) => eraseBehind(frames(left)) : frames, {
    writeFailure: (failure) => writeEvents([table.fail(failure, after)], -1),
  });

  async function* eraseBehind(events: AsyncGenerator<string>): AsyncGenerator<string> {
    try {
      yield* events;
    } finally {
      // A client of a server that stops may read the rest of its stream elsewhere.
      if (table.isDone || !closing.aborted) await eraseUnstored(backend, facts.name, !table.isDone);
    }
  }
}

interface OpenResponse extends Required<Omit<StreamedResponse, 'isErased'>> {
  readonly after: number;
  readonly table: ResponseTable;
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
    if (table.isDone) break;
  }
}

function writeEvents(events: readonly ResponseEvent[], after: number): string {
  return events
    .flatMap((event) => skipRead(event, after) ?? [])
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');
}

/**
 * Returns the part of an event that a reader lacks.
 * @param after number of the reader's last event, which may lie within the text of this event
 */
export function skipRead(event: ResponseEvent, after: number): ResponseEvent | undefined {
  const { sequence_number: place, delta } = event;
  if (place <= after) return undefined;
  if (typeof delta !== 'string' || event.type === 'response.function_call_arguments.delta') return event;
  const known = after - (place - delta.length);
  return known > 0 ? { ...event, delta: delta.slice(known) } : event;
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
