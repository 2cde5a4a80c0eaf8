import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import type { NamedConversation } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { findLastModel, type WireFormat } from '../../domain/raw-items.ts';
import type { SizeRecord } from '../../domain/size.ts';
import { wireFormats } from '../../wire/formats.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../wire/tokens/message-tokens.ts';
import type { ContextView, TurnfoldClient } from '../client/index.ts';
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
    const { body, broken } = await renderContext(items, { format, model, maxOutputTokens, version: view.version });
    return { body: { ...view, format, body, broken } };
  },
  show: async ({ client, name, param }) => {
    const { tenant: _, ...view } = await client.show(name, Number(param('version')));
    return { body: { ...view, format: 'turnfold' } };
  },
  compact: async ({ client, name, body: { dryRun, policy } }) => {
    if (!dryRun) return { body: { pass: await client.compact(name) } };
    return { body: { plan: await client.plan(name, { policy: policy ?? {} }) } };
  },
};

/** Bytes of one page of messages. A message has at most 1 MiB. */
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

interface RenderedContext {
  readonly body: unknown;
  readonly broken: readonly { readonly rule: string; readonly why: string }[];
}

/** Leaves out system prompt and tools, because a caller with its own loop has its own. */
async function renderContext(items: ContextView['items'], options: RenderOptions): Promise<RenderedContext> {
  const { format, maxOutputTokens, version } = options;
  const messages = items.map(({ message }) => message);
  if (messages.length === 0) {
    throw fieldError(
      'not_found',
      'conversation',
      "the context has no messages, but a request in a provider's format needs at least one. Add a message first",
    );
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

/** Marks a check between two turns. The last message is then an answer, and calls may still wait. */
const BETWEEN_TURNS = { isProbed: true } as const;
const TOOLS_RULE = 'X6';
/** Maximum number of broken rules in an answer. One wrong message may break a rule for each later message. */
const MAX_BROKEN = 100;

const SMALL_BYTES = 1_000_000;
/** Memory that an answer takes for each byte of its context. */
const MEMORY_FACTOR = 2;
/** Memory for each byte of the context if the answer has the format of a provider, and so is rendered and checked. */
const RENDERED_FACTOR = 5;
/** One answer may take this share of the memory for answers, which is a quarter of the heap. */
const MOST_OF_MEMORY = 1.5;

/**
 * Reserves memory before a large answer. Without the limit, four contexts of 90 MB at a time would end a process with a
 * heap of 400 MB.
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
  if (view === 'all') return 0;
  const state = await client.describe(name).catch(() => undefined);
  if (state === undefined) return 0;
  const isLive = param('version') === 'undefined' && version === undefined;
  return isLive ? liveBytes(state.size) : state.size.headTotal.bytes;
}

function liveBytes({ weight, headTotal, baseTotal }: SizeRecord): number {
  return weight.bytes + headTotal.bytes - baseTotal.bytes;
}
