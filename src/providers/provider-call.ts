import { createHash } from 'node:crypto';
import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';
import type { GateSettings } from '../domain/gate.ts';
import type { Interruptible } from '../domain/interruptible.ts';
import { readJsonText } from '../domain/json-text.ts';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import {
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../domain/model.ts';
import type { ModelOptions } from '../domain/model-options.ts';
import { isMapping } from '../domain/parse.ts';
import { upperBoundTokens } from '../domain/size.ts';
import { outlineRequest } from '../wire/request-outline.ts';
import type { RuleContext } from '../wire/rules/rule.ts';
import { eventLoopShare } from '../wire/tokens/event-loop-share.ts';
import type { AnswerParts, Rendered, Violation, WireRequest } from '../wire/wire-request.ts';

/**
 * Converts a request. The output limit is the window minus turnfold's upper bound of the request, but never below the
 * reserved output. The upper bound is higher than the provider's count.
 */
export function toWireRequest(request: ModelRequest, { id, ...profile }: ModelProfile): WireRequest {
  const { system, tools, messages, version, tokens } = request;
  const cap = Math.min(request.maxOutputTokens ?? profile.outputCapTokens, profile.outputCapTokens);
  const left = profile.windowTokens - upperBoundTokens(tokens, profile.upperBoundFactor);
  return {
    model: id,
    system,
    tools,
    messages,
    maxOutputTokens: Math.max(1, Math.min(cap, Math.max(left, MAX_RESERVE_TOKENS))),
    ...(version === undefined ? {} : { version }),
    ...(request.cache === undefined ? {} : { cacheTtl: request.cache.ttl }),
    ...(profile.abilities?.inputs && { inputs: profile.abilities.inputs }),
  };
}

export function sizeContext({ maxRequestBytes }: ModelProfile): RuleContext {
  return maxRequestBytes === undefined ? {} : { maxBytes: maxRequestBytes };
}

interface AnswerFacts extends Pick<ModelAnswer, 'nextCallAt'> {
  readonly version?: number | undefined;
  readonly prefix?: string;
}

/** Adds the provider's verbatim items, with the model, version and prefix under which they may be sent back. */
export function toModelAnswer(
  { items, ...answer }: AnswerParts,
  { format, id: model }: ModelProfile,
  { version, prefix, nextCallAt }: AnswerFacts,
  usage: ModelUsage | undefined,
): ModelAnswer {
  const boundTo = { ...(version === undefined ? {} : { version }), ...(prefix === undefined ? {} : { prefix }) };
  const raw = { format, model, ...boundTo, items };
  return { ...answer, ...(usage === undefined ? {} : { usage }), raw, nextCallAt };
}

export interface FailedCall {
  readonly signal: AbortSignal;
  readonly describe: (refusal: string) => string;
}

/**
 * Returns the SDK options with an idempotency key, by which a proxy may answer a repeated request from its cache.
 * - The key covers the body, because a step that is sent again after a compaction is another request.
 * - The key is a hash, because a conversation id may hold characters that are illegal in headers.
 * - turnfold sets the header itself, because the SDKs do not send their option for it.
 */
export function callOptions(
  { idempotencyKey, signal }: ModelRequest,
  body: object,
  extraHeaders: Readonly<Record<string, string>> = {},
): { signal: AbortSignal; headers: Record<string, string> } {
  const key = createHash('sha256').update(JSON.stringify([idempotencyKey, body]));
  return { signal, headers: { ...extraHeaders, 'Idempotency-Key': key.digest('hex') } };
}

/**
 * Settings of the model's gate. Each pair of model and key has a gate, because providers limit accounts. The gate's
 * name holds a short hash of the key.
 */
export function gateOf({ gate }: ModelOptions, { id }: ModelProfile, apiKey: string, baseUrl = ''): GateSettings {
  const account = createHash('sha256').update(`turnfold gate ${baseUrl} ${apiKey}`).digest('hex').slice(0, 8);
  return { ...gate, name: gate?.name ?? `${id}@${account}` };
}

export type CheckedBody<Body> = Rendered<Body> & Pick<FailedCall, 'describe'>;

/**
 * Renders a body and checks it by the wire rules, so that turnfold sends no request that the provider would refuse.
 * @throws ModelError if the body breaks a rule: `overflow` for its size, else `invalid`
 */
export async function renderChecked<Body>(
  rendering: Interruptible<Rendered<Body>>,
  validate: (body: Body) => Interruptible<Violation[]>,
): Promise<CheckedBody<Body>> {
  const rendered = await eventLoopShare.run(rendering);
  const { body } = rendered;
  const describe = (refusal: string): string => outlineRequest(body, refusal);
  checkBody(await eventLoopShare.run(validate(body)), describe);
  return { ...rendered, describe };
}

function checkBody(violations: readonly Violation[], describe: (refusal: string) => string): void {
  const [first] = violations;
  if (first === undefined) return;
  const rules = [...new Set(violations.map(({ rule }) => rule))].join(', ');
  const place = first.path === '' ? first.message : `${first.path}: ${first.message}`;
  if (violations.every(({ rule }) => rule === 'X9')) throw new ModelError('overflow', place, { code: rules });
  throw new ModelError(
    'invalid',
    `the provider would refuse the request, so it was not sent: ${place} (wire rules ${rules})`,
    {
      code: rules,
      form: describe(first.path),
    },
  );
}

/**
 * Timeout that never ends a call, because the caller has a deadline. The SDKs' default timeout would end long answers.
 */
const NEVER_MS = 2_147_483_647;

/**
 * Opens an agent without a timeout for idle connections. Node's default agent closes a connection after five minutes
 * without data, while a model may still think.
 */
export function openAgent(): Agent {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}

/**
 * Options for all SDKs. The SDKs do not retry, because the turn retries: it records each attempt, and frees its worker
 * slot while it waits.
 */
export function commonOptions(dispatcher: Dispatcher) {
  return {
    maxRetries: 0,
    logLevel: 'off',
    timeout: NEVER_MS,
    fetch: providerFetch,
    fetchOptions: { dispatcher },
  } as const;
}

/** Removes headers of `ANTHROPIC_CUSTOM_HEADERS` and `OPENAI_CUSTOM_HEADERS`, which would replace our API key. */
export function dropForeignHeaders<Client extends object>(client: Client): Client {
  const { _options: options } = client as { readonly _options?: { defaultHeaders?: unknown } };
  if (options !== undefined) options.defaultHeaders = undefined;
  return client;
}

/** Node bundles another undici, which refuses this agent. The cast is safe, because only iterator methods differ. */
const fetch = undiciFetch as unknown as typeof globalThis.fetch;

export const ERROR_CHARACTERS = 1_048_576;

/**
 * The `fetch` of the SDKs. Gateways and local servers differ from the provider's own API in two ways:
 * - Their error body may have another form, so that the SDK would lose the message.
 * - They may answer a stream request with status 200 and one JSON body: an error, or the whole answer.
 */
const providerFetch: typeof globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!response.ok) return readError(response);
  if (response.body === null || !isStreamRequest(init?.body) || !isJson(response)) return response;
  return readStream(response, response.body);
};

/** The searched text cannot occur inside a string of the body, because JSON escapes quotes. */
function isStreamRequest(body: unknown): boolean {
  return typeof body === 'string' && body.includes('"stream":true');
}

function isJson({ headers }: Response): boolean {
  return (headers.get('content-type') ?? '').includes('application/json');
}

async function readError(response: Response): Promise<Response> {
  const text = await readStart(response.body);
  const error = readErrorBody(text);
  const { status, statusText, headers } = response;
  const kept = new Headers([...headers].filter(([name]) => !name.startsWith('content-')));
  const body = error === undefined ? text : JSON.stringify({ type: 'error', error });
  return new Response(body, { status, statusText, headers: kept });
}

/**
 * Reads the start of a body. The rest is never read, because some providers append the whole request to their error.
 */
async function readStart(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.length >= ERROR_CHARACTERS) break;
  }
  return text.slice(0, ERROR_CHARACTERS);
}

/**
 * Reads the error of a body. Gemini puts it into a list. SGLang, Mistral and FastAPI have no field `error`. Ollama and
 * LM Studio have a string in that field, and Cloudflare has a list in `errors`.
 */
function readErrorBody(text: string): object | undefined {
  const parsed = readJsonText(text);
  const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isMapping(body)) return undefined;
  const error = body['error'] ?? body['errors'] ?? body;
  const fields = isMapping(error) ? error : {};
  return { ...fields, message: [findMessage(error), readCause(fields)].filter((part) => part !== '').join('\n') };
}

function findMessage(error: unknown): string {
  if (typeof error === 'string') return error;
  if (Array.isArray(error)) return error.map(findMessage).join('\n');
  if (!isMapping(error)) return '';
  const { message, Message, detail, msg, status_msg } = error;
  const found = message ?? Message ?? detail ?? msg ?? status_msg;
  if (found === undefined) return JSON.stringify(error);
  return typeof found === 'string' ? found : `${findMessage(found)} ${JSON.stringify(found)}`;
}

/** Reads the error of the provider behind OpenRouter, which is in `metadata.raw`. */
function readCause({ metadata }: Record<string, unknown>): string {
  const raw = isMapping(metadata) ? metadata['raw'] : undefined;
  if (raw === undefined || raw === null) return '';
  return typeof raw === 'string' ? raw : JSON.stringify(raw);
}

/**
 * Reads a response to a stream request. The first byte shows whether a body that is labeled as JSON is a stream
 * nevertheless.
 */
async function readStream(response: Response, body: ReadableStream<Uint8Array>): Promise<Response> {
  const reader = body.getReader();
  const { value: first = new Uint8Array() } = await reader.read();
  const whole = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(first),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const isJsonText = /^\s*[[{]/.test(new TextDecoder().decode(first.subarray(0, 64)));
  const { status, headers } = response;
  return isJsonText ? toStream(await new Response(whole).text()) : new Response(whole, { status, headers });
}

function toStream(text: string): Response {
  const body = readJsonText(text);
  const isError = isMapping(body) && (body['error'] ?? body['errors'] ?? undefined) !== undefined;
  const data = isError ? JSON.stringify({ type: 'error', error: readErrorBody(text) }) : JSON.stringify(body ?? null);
  const name = isError ? 'error' : isMapping(body) && typeof body['type'] === 'string' ? body['type'] : 'message';
  const headers = { 'content-type': 'text/event-stream' };
  return new Response(`event: ${name}\ndata: ${data}\n\ndata: [DONE]\n\n`, { headers });
}
