import { fieldError } from '../domain/errors.ts';
import { HttpProblem } from './problem.ts';

export interface BodyLimits {
  /** Maximum bytes of a body. */
  readonly maxBytes: number;
  /** Maximum nesting depth of the JSON. */
  readonly maxDepth: number;
  /** Time for the whole body to arrive, in ms. */
  readonly timeoutMs: number;
}

/**
 * Reads a request body as JSON, within limits.
 * @returns undefined if the request has no body
 * @throws unsupported_media_type, body_too_large, request_timeout
 * @throws invalid_input for a body that is not JSON or is nested too deeply
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const text = await readText(request, limits);
  if (text === '') return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new HttpProblem('unsupported_media_type', 'the body must be JSON. Send `Content-Type: application/json`', {
      field: 'content-type',
    });
  }
  checkDepth(text, limits.maxDepth);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fieldError('invalid_input', 'body', 'not valid JSON', { cause });
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

async function readText(request: Request, { maxBytes, timeoutMs }: BodyLimits): Promise<string> {
  const length = request.headers.get('content-length');
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes);
  // Reading `body` makes the adapter create a stream, so it is read only if the length is unknown.
  const body = length === null ? request.body : undefined;
  if (body === null) return '';
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => undefined);
  const timer = setTimeout(() => {
    late.reject(new HttpProblem('request_timeout', `the body did not arrive within ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    const bytes = body === undefined ? request.arrayBuffer() : readChunks(body, maxBytes, late.promise);
    return UTF8.decode(await Promise.race([bytes, late.promise]));
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw fieldError('invalid_input', 'body', 'not valid UTF-8, or not complete', { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a body of unknown length. */
async function readChunks(body: ReadableStream<Uint8Array>, maxBytes: number, late: Promise<never>): Promise<Buffer> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { value, done } = await Promise.race([reader.read(), late]);
      if (done) return Buffer.concat(chunks);
      bytes += value.byteLength;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
    }
  } catch (error) {
    void reader.cancel().catch(() => undefined);
    throw error;
  }
}

function tooLarge(maxBytes: number): HttpProblem {
  return new HttpProblem('body_too_large', `the body has more than ${maxBytes} bytes, the limit of this server`, {
    headers: { connection: 'close' },
  });
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Checks the nesting depth before the text is parsed, because code that handles deeply nested values recursively would
 * overflow the stack.
 * @throws invalid_input
 */
function checkDepth(text: string, maxDepth: number): void {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at);
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      if (depth > maxDepth) throw fieldError('invalid_input', 'body', `nested more than ${maxDepth} levels deep`);
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth -= 1;
  }
}

/** Returns the index of the quote that ends a string, or the length of the text. Searching is 20 times as fast as reading. */
function findStringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 0;
}
