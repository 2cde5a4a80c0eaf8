import { randomUUID } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { StreamOptions } from '../../client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { isSettled, type TurnView } from '../../domain/turn.ts';
import { type Backend, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { answerProblems, readBody, readServerFacts, streamFrames } from '../front-end/server-facts.ts';
import { type CreateRequest, readCreateRequest } from './create-request.ts';
import { type ResponseEvent, ResponseTable } from './events.ts';
import { type ResponseFacts, type ResponseName, readResponseId } from './response-object.ts';
import { skipRead } from './resume.ts';

const retrieveSchema = z.object({
  stream: z.stringbool().default(false),
  starting_after: z.coerce.number().int().min(0).optional(),
});

/** Open Responses: the routes of the OpenAI Responses API, to be mounted in a server. */
export function responsesApp(options: FrontEndOptions): Hono {
  const app = new Hono();
  answerProblems(app);

  app.post('/v1/responses', async (context) => {
    const backend = await openBackend(options, context);
    const request = readCreateRequest(await readBody(context));
    const name = await createTurn(backend, request, readKey(context));
    const facts = await readFacts(backend, name, request);
    if (request.stream) return await streamFrames(context, (left) => streamResponse({ backend, facts, left }));
    if (request.background) return context.json(await readResponse(backend, facts, { waitMs: 0 }));
    const { readers } = await readServerFacts(context);
    return context.json(await readers.run(context.req.raw, (signal) => readResponse(backend, facts, { signal })));
  });

  app.get('/v1/responses/:id', async (context) => {
    const backend = await openBackend(options, context);
    const { stream, starting_after: after } = parseInput(retrieveSchema, context.req.query());
    const facts = await readFacts(backend, readResponseId(context.req.param('id')));
    if (stream) return await streamFrames(context, (left) => streamResponse({ backend, facts, left }, after));
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

/** With the same `Idempotency-Key`, a repeated request finds its response. */
function readKey(context: Context): string | undefined {
  const key = context.req.header('idempotency-key');
  return key === undefined ? undefined : parseInput(idSchema, key, 'Idempotency-Key');
}

async function createTurn(backend: Backend, request: CreateRequest, key: string = randomUUID()): Promise<ResponseName> {
  const { client, tenant, nameOf } = backend;
  const { history, input, agent = backend.agent, conversation = `conv_${key}` } = request;
  if (input === undefined) return await answerCalls(backend, conversation, request);
  const name = { conversation, turn: key };
  if (history.length > 0) {
    const known = await client.result(nameOf(conversation), key).catch(() => undefined);
    const messages = { conversation, tenant, agent, messages: history, operation: `history.${key}` };
    if (known === undefined) await client.append(messages);
  }
  await client.enqueueTurn({ conversation, tenant, agent, turn: key, input });
  return name;
}

/** Answers calls of the previous response's turn, or of the turn that the conversation waits in. */
async function answerCalls(
  { client, nameOf }: Backend,
  conversation: string,
  { answers, previousTurn }: CreateRequest,
): Promise<ResponseName> {
  const turn = previousTurn ?? (await client.openTurns(nameOf(conversation))).turns[0]?.turn;
  const [answered = ''] = Object.keys(answers);
  if (turn === undefined) throw fieldError('conflict', 'input', `the conversation does not wait for ${answered}`);
  await client.answer(nameOf(conversation), turn, answers);
  return { conversation, turn, answered };
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

interface OpenResponse {
  readonly backend: Backend;
  readonly facts: ResponseFacts;
  /** Aborts when the client leaves. */
  readonly left: AbortSignal;
}

async function* streamResponse({ backend, facts, left }: OpenResponse, after = -1): AsyncGenerator<string> {
  const { client, nameOf } = backend;
  const { conversation, turn } = facts.name;
  const table = new ResponseTable(facts);
  const view = await client.result(nameOf(conversation), turn);
  const parts = client.stream(nameOf(conversation), turn, { signal: left });
  yield writeEvents(table.start(isQueued(view)), after);
  let known = after;
  for await (const part of parts) {
    // The numbers of a step that begins again go back to its start.
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

/** Reads a response as of now, or once its turn has settled or waits for the caller. */
async function readResponse(
  { client, nameOf }: Backend,
  facts: ResponseFacts,
  options: StreamOptions,
): Promise<object> {
  const { conversation, turn } = facts.name;
  const table = new ResponseTable(facts);
  for await (const part of client.stream(nameOf(conversation), turn, options)) {
    table.add(part);
    if (table.isDone || (part.type === 'end' && isSettled(part.view.state))) break;
  }
  return table.response;
}
