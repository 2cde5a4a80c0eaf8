import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fieldError } from '../../domain/errors.ts';
import { parseJsonText } from '../../domain/json-text.ts';
import { HttpProblem } from './problem.ts';

export interface BodyLimits {
  /** Maximum bytes of a body. */
  readonly maxBytes: number;
  /** Maximum nesting depth of the JSON. */
  readonly maxDepth: number;
  /** Maximum number of values and names in the JSON. A list or an object counts twice. */
  readonly maxValues: number;
  /** Time for the whole body to arrive, in ms. */
  readonly timeoutMs: number;
}

/** @returns undefined if the request has no body */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<unknown> {
  const text = await readText(request, limits);
  if (text === '') return undefined;
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type)) {
    throw new HttpProblem('unsupported_media_type', 'the body must be JSON. Send `Content-Type: application/json`', {
      field: 'content-type',
    });
  }
  // Lets the event loop serve other requests before and after it parses a large body.
  if (text.length > LARGE_CHARACTERS) await nextTurn();
  const body = parseJsonText(text, 'body', limits);
  if (text.length > LARGE_CHARACTERS) await nextTurn();
  return body;
}

const LARGE_CHARACTERS = 65_536;

const BYTE_ORDER_MARK = /^\uFEFF/;

/** Takes 3 ms for 4 MB of Chinese. A `TextDecoder` that checks takes 50 ms. */
function decodeUtf8(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new TypeError('not valid UTF-8');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().replace(BYTE_ORDER_MARK, '');
}

async function readText(request: Request, { maxBytes, timeoutMs }: BodyLimits): Promise<string> {
  const length = request.headers.get('content-length');
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes);
  // Reading `body` makes the adapter create a stream, which a body of known length does not need.
  const body = length === null ? request.body : undefined;
  if (body === null) return '';
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => undefined);
  const timer = setTimeout(() => {
    late.reject(new HttpProblem('request_timeout', `the body did not arrive within ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    const bytes = body === undefined ? request.arrayBuffer() : readChunks(body, maxBytes, late.promise);
    return decodeUtf8(new Uint8Array(await Promise.race([bytes, late.promise])));
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw fieldError('invalid_input', 'body', 'not valid UTF-8, or not complete', { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

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
