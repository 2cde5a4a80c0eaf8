import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import type { SizeRecord } from '../../domain/size.ts';
import { answerJson, writeJsonPieces } from './json-answer.ts';
import type { Call, JsonAnswer } from './route.ts';

/** Bytes of a context below which its answer is written at once, without a share of the memory. */
const SMALL_BYTES = 1_000_000;
/** Memory that an answer takes for each byte of its context: the messages, and what is made of them. */
const MEMORY_FACTOR = 2;
/** The same for an answer in the format of a provider, which is rendered and checked. */
const RENDERED_FACTOR = 5;
/** Share of the memory for answers that one answer may take. That memory is a quarter of the heap. */
const MOST_OF_MEMORY = 1.5;

/**
 * Answers a request that reads a context. A large context first gets a share of the server's memory, and is sent in
 * pieces. Four contexts of 90 MB at a time would otherwise end a process with a heap of 400 MB.
 */
export async function answerWithContext(
  call: Call,
  handle: () => Promise<JsonAnswer | Response>,
): Promise<JsonAnswer | Response> {
  const { request, cut, readers, streams: limits, memory } = call;
  const bytes = await sizeOfContext(call);
  if (bytes <= SMALL_BYTES) return await handle();
  const signal = AbortSignal.any([request.signal, readers.closing]);
  const needed = bytes * (isRendered(call) ? RENDERED_FACTOR : MEMORY_FACTOR);
  if (needed > MOST_OF_MEMORY * memory.maxBytes) throw tooLarge(bytes);
  const release = await memory.reserve(needed, signal);
  try {
    const answered = await handle();
    if (answered instanceof Response) {
      release();
      return answered;
    }
    const { body, headers } = answered;
    const pieces = writeJsonPieces(body);
    return answerJson({ request, cut, readers, limits, pieces, onEnd: release, ...(headers && { headers }) });
  } catch (error) {
    release();
    throw error;
  }
}

function isRendered({ query }: Call): boolean {
  const { format = 'turnfold' } = query as { readonly format?: string };
  return format !== 'turnfold';
}

function tooLarge(bytes: number): TurnfoldError {
  const why = `the context has ${bytes} bytes, too many for the memory of this server. Read its messages in pages, or compact the conversation`;
  return fieldError('message_too_large', 'conversation', why);
}

/** Returns 0 for a conversation that cannot be read, because the route then answers why. */
async function sizeOfContext({ client, name, param, query }: Call): Promise<number> {
  const { version, view } = query as { readonly version?: number; readonly view?: string };
  // A page of the log is read without a context.
  if (view === 'all') return 0;
  const state = await client.describe(name).catch(() => undefined);
  if (state === undefined) return 0;
  const isLive = param('version') === 'undefined' && version === undefined;
  return isLive ? liveBytes(state.size) : state.size.headTotal.bytes;
}

function liveBytes({ weight, headTotal, baseTotal }: SizeRecord): number {
  return weight.bytes + headTotal.bytes - baseTotal.bytes;
}
