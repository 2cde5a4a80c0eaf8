import type { Context, Hono } from 'hono';
import { TurnfoldError } from '../../../domain/errors.ts';
import type { TurnFailure, TurnUsage } from '../../client/index.ts';
import { type Backend, type BackendOptions, openBackend } from '../front-end/backend.ts';
import { readBody, serverFactsOf, streamFrames, writeData } from '../front-end/server-facts.ts';
import { IDEMPOTENCY_HEADER } from '../idempotency-key.ts';
import { HttpProblem } from '../problem.ts';
import type { ResponseName } from '../responses/response-names.ts';
import { NO_RETRY } from '../responses/response-object.ts';
import { type CompletionRequest, readCompletionRequest } from './chat-request.ts';
import { ChatTable } from './chat-table.ts';
import { createChatTurn } from './chat-turn.ts';
import { renameFields, writeErrorBody } from './errors.ts';

/** Fields of a turn that have another name in the request. */
const FIELDS = [
  [/^tools\[(\d+)\]\.(.*)/, 'tools[$1].function.$2'],
  [/^answer\.schema/, 'response_format.json_schema.schema'],
  [/^answer/, 'response_format.json_schema'],
  [/^instructions$/, 'messages[0]'],
  [/^toolChoice/, 'tool_choice'],
  [/^maxOutputTokens/, 'max_completion_tokens'],
  [/^input/, 'messages'],
  [/^turn$/, IDEMPOTENCY_HEADER],
] as const;

/** Adds the route of Chat Completions, for clients that keep the chat and send all of it. */
export function addChatCompletions(app: Hono, options: BackendOptions, base: string): void {
  app.post(`${base}/chat/completions`, async (context) => {
    const backend = await openBackend(options, context);
    const request = readCompletionRequest(await readBody(context), context.req.header());
    const { readers } = serverFactsOf(context);
    readers.checkPlace();
    const name = await renameFields(FIELDS, () => createChatTurn(backend, request));
    const { agent, acceptedAt } = await backend.client.result(backend.nameOf(name.conversation), name.turn);
    const chat = { backend, request, name, agent, createdAt: acceptedAt };
    if (request.stream) return await answerChunks(context, chat);
    return await readers.run(context.req.raw, (signal) => answerCompletion(context, chat, signal));
  });
}

interface OpenChat {
  readonly backend: Backend;
  readonly request: CompletionRequest;
  readonly name: ResponseName;
  readonly agent: string;
  readonly createdAt: number;
}

function writeHead({ name, agent, createdAt }: OpenChat, object: string): object {
  const { conversation, turn, answered } = name;
  const id = ['chatcmpl-', conversation, '~', turn, ...(answered === undefined ? [] : ['~', answered])].join('');
  return { id, object, created: Math.floor(createdAt / 1_000), model: agent, system_fingerprint: null };
}

async function answerCompletion(context: Context, chat: OpenChat, signal: AbortSignal): Promise<Response> {
  const { backend, name } = chat;
  const { maxWaitMs: waitMs } = serverFactsOf(context);
  const table = new ChatTable(name);
  for await (const part of backend.client.stream(backend.nameOf(name.conversation), name.turn, { waitMs, signal })) {
    table.add(part);
    if (table.isDone) break;
  }
  if (table.failure !== undefined) return answerFailure(table.failure);
  if (table.end === undefined)
    throw new HttpProblem('request_timeout', 'the answer takes longer. Send the request again');
  const choice = { index: 0, message: table.message, logprobs: null, finish_reason: table.end };
  return Response.json({
    ...writeHead(chat, 'chat.completion'),
    choices: [choice],
    usage: writeChatUsage(table.usage),
  });
}

/** Failures that a changed request can avoid. */
const OF_REQUEST = new Map<string, string>([
  ['invalid_input', 'invalid_value'],
  ['budget_infeasible', 'context_length_exceeded'],
  ['context_overflow', 'context_length_exceeded'],
  ['message_too_large', 'context_length_exceeded'],
]);

/** A repeated request would get the same failed turn, so the client must not repeat it by itself. */
function answerFailure({ code, message }: TurnFailure): Response {
  const reason = OF_REQUEST.get(code);
  const status = reason === undefined ? 500 : 400;
  const body = writeErrorBody(status, { message, param: null, code: reason ?? code });
  return Response.json(body, { status, headers: NO_RETRY });
}

function writeChatUsage(usage: TurnUsage | undefined): object {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0 } = usage ?? {};
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

async function answerChunks(context: Context, chat: OpenChat): Promise<Response> {
  return await streamFrames(context, (left) => streamChunks(chat, left), { writeFailure: writeStreamError });
}

function writeStreamError({ code, message }: { readonly code: string; readonly message: string }): string {
  return writeData(writeErrorBody(500, { message, code, param: null }));
}

async function* streamChunks(chat: OpenChat, left: AbortSignal): AsyncGenerator<string> {
  const { backend, request, name } = chat;
  const head = writeHead(chat, 'chat.completion.chunk');
  const usage = request.needsUsage ? { usage: null } : {};
  const write = (delta: object, end: string | null = null): string =>
    writeData({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: end }], ...usage });
  const table = new ChatTable(name);
  yield write({ role: 'assistant', content: '' });
  for await (const part of backend.client.stream(backend.nameOf(name.conversation), name.turn, { signal: left })) {
    const deltas = table.add(part);
    if (table.isBroken && request.own.answer !== undefined) throw brokenText();
    yield deltas.map((delta) => write(delta)).join('');
    if (table.isDone) break;
  }
  if (table.failure !== undefined) {
    yield writeStreamError(table.failure);
    return;
  }
  yield write({}, table.end ?? 'stop');
  if (request.needsUsage) yield writeData({ ...head, choices: [], usage: writeChatUsage(table.usage) });
  yield 'data: [DONE]\n\n';
}

/** Two beginnings of a JSON text are no JSON. */
function brokenText(): TurnfoldError {
  return new TurnfoldError('conflict', 'the model began its answer again. Send the request again to read it whole');
}
