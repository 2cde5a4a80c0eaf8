import { fetch as undiciFetch } from 'undici';
import { readJsonText } from '../domain/json-text.ts';
import { isMapping } from '../domain/parse.ts';

/**
 * The `fetch` of the undici package, because Node bundles a different version that does not accept this package's
 * agent. The cast is safe: the types differ only in iterator methods.
 */
const fetch = undiciFetch as unknown as typeof globalThis.fetch;

/** Longest error body that is read. Some servers append the whole request to their error. */
const ERROR_CHARACTERS = 1_048_576;

/**
 * The `fetch` of the provider SDKs. It gives every response the form of the provider's own API. Gateways and local
 * servers differ from that form in two ways:
 * - An error body has another form, so that the SDK would lose the message.
 * - A request for a stream is answered with status 200 and one JSON body, which holds an error or the whole answer.
 */
export const providerFetch: typeof globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!response.ok) return readError(response);
  if (response.body === null || !isStreamRequest(init?.body) || !isJson(response)) return response;
  return readStream(response, response.body);
};

/** The text cannot occur inside a string of the body, because JSON escapes the quotes in a string. */
function isStreamRequest(body: unknown): boolean {
  return typeof body === 'string' && body.includes('"stream":true');
}

function isJson({ headers }: Response): boolean {
  return (headers.get('content-type') ?? '').includes('application/json');
}

async function readError(response: Response): Promise<Response> {
  const text = (await response.text()).slice(0, ERROR_CHARACTERS);
  const error = readErrorBody(text);
  const { status, statusText, headers } = response;
  const kept = new Headers([...headers].filter(([name]) => !name.startsWith('content-')));
  const body = error === undefined ? text : JSON.stringify({ type: 'error', error });
  return new Response(body, { status, statusText, headers: kept });
}

/**
 * Reads the error in a response body. Gemini puts its error into a list. SGLang, Mistral and FastAPI have no field
 * `error`. Ollama and LM Studio have a string in that field, Cloudflare a list in `errors`.
 * @returns undefined if the text is not JSON
 */
function readErrorBody(text: string): object | undefined {
  const parsed = readJsonText(text);
  const body: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isMapping(body)) return undefined;
  const error = body['error'] ?? body['errors'] ?? body;
  const fields = isMapping(error) ? error : {};
  return { ...fields, message: [findMessage(error), readCause(fields)].filter((part) => part !== '').join('\n') };
}

/** Finds the message in an error of any form. */
function findMessage(error: unknown): string {
  if (typeof error === 'string') return error;
  if (Array.isArray(error)) return error.map(findMessage).join('\n');
  if (!isMapping(error)) return '';
  const { message, Message, detail, msg, status_msg } = error;
  const found = message ?? Message ?? detail ?? msg ?? status_msg;
  if (found === undefined) return JSON.stringify(error);
  return typeof found === 'string' ? found : `${findMessage(found)} ${JSON.stringify(found)}`;
}

/** Returns the error of the provider behind a gateway: `metadata.raw` of OpenRouter. */
function readCause({ metadata }: Record<string, unknown>): string {
  const raw = isMapping(metadata) ? metadata['raw'] : undefined;
  if (raw === undefined || raw === null) return '';
  return typeof raw === 'string' ? raw : JSON.stringify(raw);
}

/** Reads a response that its server labels as JSON. It may be a stream nevertheless, which the first byte shows. */
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

/** Turns a JSON body into a stream of one event, because the caller asked for a stream. */
function toStream(text: string): Response {
  const body = readJsonText(text);
  const isError = isMapping(body) && (body['error'] ?? body['errors'] ?? undefined) !== undefined;
  const data = isError ? JSON.stringify({ type: 'error', error: readErrorBody(text) }) : JSON.stringify(body ?? null);
  const name = isError ? 'error' : isMapping(body) && typeof body['type'] === 'string' ? body['type'] : 'message';
  const headers = { 'content-type': 'text/event-stream' };
  return new Response(`event: ${name}\ndata: ${data}\n\ndata: [DONE]\n\n`, { headers });
}
