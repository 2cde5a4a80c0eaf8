import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';
import { readJsonText } from '../domain/json-text.ts';
import { isMapping } from '../domain/parse.ts';
import { ERROR_CHARACTERS } from './provider-call.ts';

/** Never ends a call, because the caller has a deadline. The SDKs' default timeout would end long answers. */
const NEVER_MS = 2_147_483_647;

/**
 * Opens an HTTP agent without a timeout for idle connections. Node's default agent closes a connection after five
 * minutes without data, while a model may still think.
 */
export function openAgent(): Agent {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}

/**
 * Options for all SDKs. SDKs do not retry. The turn retries, because a turn records each attempt and frees its worker
 * slot meanwhile.
 */
export function sdkOptions(dispatcher: Dispatcher) {
  return {
    maxRetries: 0,
    logLevel: 'off',
    timeout: NEVER_MS,
    fetch: providerFetch,
    fetchOptions: { dispatcher },
  } as const;
}

/** Removes headers of `ANTHROPIC_CUSTOM_HEADERS` and `OPENAI_CUSTOM_HEADERS`, which would replace the API key. */
export function dropForeignHeaders<Client extends object>(client: Client): Client {
  const { _options: options } = client as { readonly _options?: { defaultHeaders?: unknown } };
  if (options !== undefined) options.defaultHeaders = undefined;
  return client;
}

/** Node bundles another undici, which refuses this agent. The cast is safe: only iterator methods differ. */
const fetch = undiciFetch as unknown as typeof globalThis.fetch;

/**
 * The `fetch` of the SDKs. Gateways and local servers may write an error's body in another form, so that the SDK would
 * lose its message. They may also answer a stream request with one JSON body: an error, or the whole answer.
 */
const providerFetch: typeof globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!response.ok) return readError(response);
  if (response.body === null || !isStreamRequest(init?.body) || !isJson(response)) return response;
  return readStream(response, response.body);
};

/** JSON escapes quotes, so this text cannot occur inside a string of the body. */
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

/** The rest of an error's body is never read: some providers append the whole request to it. */
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
 * Gemini puts the error into a list. SGLang, Mistral and FastAPI have no field `error`, Ollama and LM Studio a string
 * in it, and Cloudflare a list in `errors`.
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

/** OpenRouter puts the error of the provider behind it into `metadata.raw`. */
function readCause({ metadata }: Record<string, unknown>): string {
  const raw = isMapping(metadata) ? metadata['raw'] : undefined;
  if (raw === undefined || raw === null) return '';
  return typeof raw === 'string' ? raw : JSON.stringify(raw);
}

/** The first byte shows whether a body that is labeled as JSON is a stream nevertheless. */
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
