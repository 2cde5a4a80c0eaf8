import { z } from 'zod';
import { boundedList, boundedRecord } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import type { NamedConversation } from '../../../domain/ids.ts';
import type { Message } from '../../../domain/message.ts';
import { findLastModel, type WireFormat } from '../../../domain/raw-items.ts';
import { wireFormats } from '../../../wire/formats.ts';
import { eventLoopShare } from '../../../wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../../wire/tokens/message-tokens.ts';
import { appendSchema } from '../../client/append-input.ts';
import type { ContextView, TurnfoldClient } from '../../client/index.ts';
import { appendedSchema, CONTEXT_FORMATS, contextSchema, messagePageSchema } from '../answers/messages.ts';
import { readOperation } from '../idempotency-key.ts';
import { defineRoute } from '../route.ts';
import { limitOf } from './fields.ts';

/** Maximum number of messages in one request, as in `client.append`. */
const MAX_MESSAGES = 5_000;

/** More fields than a message has, in either format. */
const MAX_FIELDS = 100;

/** Messages in one of the formats of `src/wire/histories`, which the client reads. */
export const givenMessages = boundedList(boundedRecord(z.string(), z.unknown(), MAX_FIELDS), MAX_MESSAGES).meta({
  description:
    'Messages, oldest first, each in the format of turnfold, OpenAI Chat, Anthropic, the AI SDK, LangChain or Ollama.',
  override: {
    type: 'array',
    minItems: 1,
    maxItems: MAX_MESSAGES,
    items: {
      type: 'object',
      properties: {
        role: { enum: ['system', 'developer', 'user', 'assistant', 'tool', 'function'] },
        content: { description: 'Text, or a list of content parts.' },
      },
      required: ['role'],
    },
  },
});

const appendMessages = defineRoute({
  operation: 'appendMessages',
  method: 'post',
  path: '/v1/conversations/{conversation}/messages',
  scope: 'enqueue',
  summary: 'Append messages to the log without a turn, for callers that call the model themselves.',
  hasKey: true,
  body: z.strictObject({
    agent: appendSchema.shape.agent,
    messages: givenMessages,
    operation: appendSchema.shape.operation,
    expectedHead: appendSchema.shape.expectedHead,
    strict: appendSchema.shape.strict.describe('True: messages that would have to be repaired are refused.'),
  }),
  status: 201,
  result: appendedSchema,
  handle: async (call) => {
    const { client, name, body } = call;
    const operation = readOperation(call, body.operation);
    return { body: await client.append({ ...body, ...name, operation }) };
  },
});

/** Bytes that end a page. A message has at most 1 MiB. */
const PAGE_BYTES = 2_000_000;

const listMessages = defineRoute({
  operation: 'listMessages',
  holdsContext: true,
  method: 'get',
  path: '/v1/conversations/{conversation}/messages',
  scope: 'read',
  summary: 'List messages in pages: the whole log, or only those that the agent sees.',
  query: z.strictObject({
    view: z.enum(['all', 'active']).default('all').describe('all: the log. active: the live context.'),
    after: z.coerce.number().int().min(0).default(0).describe('Position (seq) behind which the page starts.'),
    limit: limitOf(1_000),
  }),
  result: messagePageSchema,
  handle: async ({ client, name, query: { view, after, limit } }) => {
    if (view === 'all') return { body: await readLogPage(client, name, { after, limit }) };
    const items = (await client.context(name)).items.filter(({ to }) => to > after);
    const page = takeBytes(items.slice(0, limit));
    return { body: { items: page, ...(page.length < items.length && { next: page.at(-1)?.to }) } };
  },
});

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

/** Takes items up to the one that reaches the bytes of a page. */
function takeBytes<Item extends { readonly message: Message }>(items: readonly Item[]): readonly Item[] {
  let left = PAGE_BYTES;
  const last = items.findIndex(({ message }) => (left -= bytesOfMessage(message)) <= 0);
  return last === -1 ? items : items.slice(0, last + 1);
}

const showContext = defineRoute({
  operation: 'showContext',
  holdsContext: true,
  method: 'get',
  path: '/v1/conversations/{conversation}/context',
  scope: 'read',
  summary: 'Show the context that the agent sees, in the format of turnfold or of a provider.',
  query: z.strictObject({
    format: z.enum(CONTEXT_FORMATS).default('turnfold'),
    version: z.coerce.number().int().min(0).optional().describe('Number of a kept version. Absent: the live one.'),
    head: z.coerce.number().int().min(0).optional().describe('Position (seq) of the last log entry.'),
    model: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe("Provider's name of the model. Thinking is sent only to the model that wrote it."),
    maxOutputTokens: z.coerce.number().int().min(1).max(1_000_000).default(8_192),
  }),
  result: contextSchema,
  handle: async ({ client, name, query: { format, version, head, model, maxOutputTokens } }) => {
    const {
      items,
      tenant: _,
      ...view
    } = await client.context(name, {
      ...(version !== undefined && { version }),
      ...(head !== undefined && { head }),
    });
    if (format === 'turnfold') return { body: { ...view, format, items } };
    const { body, broken } = await renderContext(items, { format, model, maxOutputTokens, version: view.version });
    return { body: { ...view, format, body, broken } };
  },
});

interface RenderOptions {
  readonly format: WireFormat;
  readonly model: string | undefined;
  readonly maxOutputTokens: number;
  readonly version: number;
}

/** A request body, and the rules of its format that it breaks. */
interface RenderedContext {
  readonly body: unknown;
  readonly broken: readonly { readonly rule: string; readonly why: string }[];
}

/** Renders a context without system prompt and tools, because a caller with its own loop has its own. */
async function renderContext(items: ContextView['items'], options: RenderOptions): Promise<RenderedContext> {
  const { format, maxOutputTokens, version } = options;
  const messages = items.map(({ message }) => message);
  if (messages.length === 0) {
    throw fieldError('not_found', 'conversation', 'the context has no messages, and a request needs one');
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

/** Between two turns, the last message is an answer, and calls may still wait. */
const BETWEEN_TURNS = { isProbed: true } as const;
/** Rule about tools, which the caller adds. */
const TOOLS_RULE = 'X6';
/** Maximum number of broken rules in an answer. One wrong message may break a rule for each that follows. */
const MAX_BROKEN = 100;

export const messageRoutes = [appendMessages, listMessages, showContext];
