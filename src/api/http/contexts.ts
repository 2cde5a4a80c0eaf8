import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import type { NamedConversation } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { findLastModel, type WireFormat } from '../../domain/raw-items.ts';
import { wireFormats } from '../../wire/formats.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../wire/tokens/message-tokens.ts';
import type { ContextView, TurnfoldClient } from '../client/index.ts';
import type { AnswerMemory } from './answer-memory.ts';
import type { HeldContext } from './app-options.ts';
import { answerJson, writeJsonPieces } from './json-answer.ts';
import type { Call, JsonAnswer, RouteHandlers } from './route.ts';

export const contextHandlers: RouteHandlers = {
  log: async ({ client, name, query: { view, after, limit } }) => {
    if (view === 'all') return { body: await readLogPage(client, name, { after, limit }) };
    const items = (await client.context(name)).items.filter(({ to }) => to > after);
    const page = takeBytes(items.slice(0, limit));
    return { body: { items: page, ...(page.length < items.length && { next: page.at(-1)?.to }) } };
  },
  context: async ({ client, name, query: { format, version, head, model, maxOutputTokens } }) => {
    const { items, tenant: _, ...view } = await client.context(name, { version, head });
    if (format === 'turnfold') return { body: { ...view, format, items } };
    const rendered = await renderContext(items, { format, model, maxOutputTokens, version: view.version });
    return { body: { ...view, format, ...rendered } };
  },
  compact: async ({ client, name, body: { dryRun, policy } }) => {
    if (!dryRun) return { body: { pass: await client.compact(name) } };
    return { body: { plan: await client.plan(name, { policy: policy ?? {} }) } };
  },
};

/** Bytes of a page of messages, each of which has at most 1 MiB. */
const PAGE_BYTES = 2_000_000;

async function readLogPage(
  client: TurnfoldClient,
  name: NamedConversation,
  { after, limit }: { readonly after: number; readonly limit: number },
) {
  const { head } = await client.describe(name);
  const read = await client.log(name, { after, limit, maxBytes: PAGE_BYTES });
  const last = read.at(-1)?.seq ?? head;
  const items = read.map(({ seq, tokens: size, bytes, total, message, turn, at, left }) => ({
    from: seq,
    to: seq,
    tokens: size,
    bytes,
    total,
    message,
    ...(turn !== undefined && { turn }),
    at,
    ...(left && { left }),
  }));
  return { items, ...(last < head && { next: last }) };
}

function takeBytes<Item extends { readonly message: Message }>(items: readonly Item[]): readonly Item[] {
  let left = PAGE_BYTES;
  const last = items.findIndex(({ message }) => (left -= bytesOfMessage(message)) <= 0);
  return last === -1 ? items : items.slice(0, last + 1);
}

interface RenderOptions {
  readonly format: WireFormat;
  readonly model: string | undefined;
  readonly maxOutputTokens: number;
  readonly version: number;
}

/** Leaves out system prompt and tools, because a caller with its own loop has its own. */
async function renderContext(items: ContextView['items'], options: RenderOptions): Promise<object> {
  const { format, maxOutputTokens, version } = options;
  const messages = items.map(({ message }) => message);
  if (messages.length === 0) {
    const why = "the context has no messages, but a request in a provider's format needs one. Add a message first";
    throw fieldError('not_found', 'conversation', why);
  }
  const model = options.model ?? findLastModel(messages, format) ?? 'unnamed';
  const request = { model, system: '', tools: [], messages, maxOutputTokens, ...(version > 0 && { version }) };
  const { renderInSlices, validateInSlices } = wireFormats[format];
  const { body } = await eventLoopShare.run(renderInSlices(request));
  const violations = await eventLoopShare.run(validateInSlices(body, BETWEEN_TURNS));
  const broken = violations.filter(({ rule }) => rule !== TOOLS_RULE).slice(0, MAX_BROKEN);
  return {
    body,
    broken: broken.map(({ rule, path, message }) => ({ rule, why: path === '' ? message : `${path}: ${message}` })),
  };
}

/** Checks a context between two turns: its last message may be an answer, and calls may have no result yet. */
const BETWEEN_TURNS = { isProbed: true } as const;
const TOOLS_RULE = 'X6';
/** Limits the list, because one wrong message may break a rule for each later message. */
const MAX_BROKEN = 100;

const SMALL_BYTES = 1_000_000;
/** Bytes of memory that an answer takes for each byte of its context. */
const MEMORY_FACTOR = 2;
/** Bytes of memory for each byte of a context that is rendered and checked in the format of a provider. */
const RENDERED_FACTOR = 5;
/** An answer that needs more than this multiple of the memory for answers is refused. */
const MOST_OF_MEMORY = 1.5;

/** Reserves memory for a large answer: four contexts of 90 MB at a time end a process with a heap of 400 MB. */
export async function answerWithContext(
  call: Call,
  handle: () => Promise<JsonAnswer | Response>,
): Promise<JsonAnswer | Response> {
  const { client, name, param, request, cut, readers, streams: limits, memory } = call;
  const { format = 'turnfold', version, view } = call.query as ContextQuery;
  const isLive = param('version') === 'undefined' && version === undefined;
  const signal = AbortSignal.any([request.signal, readers.closing]);
  const factor = format === 'turnfold' ? MEMORY_FACTOR : RENDERED_FACTOR;
  const held = { client, conversation: name, isLive, signal };
  const release = view === 'all' ? undefined : await reserveContext(memory, held, factor);
  if (release === undefined) return await handle();
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

interface ContextQuery {
  readonly format?: string;
  readonly version?: number;
  readonly view?: string;
}

/** Runs a read that holds a context until it ends, from the same memory as the routes. */
export async function holdContext<Result>(
  memory: AnswerMemory,
  held: HeldContext,
  read: () => Promise<Result>,
): Promise<Result> {
  const release = await reserveContext(memory, held, MEMORY_FACTOR);
  try {
    return await read();
  } finally {
    release?.();
  }
}

/** @returns a function that gives the memory back. Undefined for a small context, which needs no share of the memory */
async function reserveContext(
  memory: AnswerMemory,
  held: HeldContext,
  factor: number,
): Promise<(() => void) | undefined> {
  const bytes = await sizeOfContext(held);
  if (bytes <= SMALL_BYTES) return undefined;
  if (bytes * factor > MOST_OF_MEMORY * memory.maxBytes) throw tooLarge(bytes);
  return await memory.reserve(bytes * factor, held.signal);
}

function tooLarge(bytes: number): TurnfoldError {
  const why = `the context has ${bytes} bytes, too many for the memory of this server. Read its messages in pages, or compact the conversation`;
  return fieldError('message_too_large', 'conversation', why);
}

/** Returns 0 if the conversation cannot be read. The read itself then says why. */
async function sizeOfContext({ client, conversation, isLive }: HeldContext): Promise<number> {
  const state = await client.describe(conversation).catch(() => undefined);
  if (state === undefined) return 0;
  const { weight, headTotal, baseTotal } = state.size;
  return isLive ? weight.bytes + headTotal.bytes - baseTotal.bytes : headTotal.bytes;
}
