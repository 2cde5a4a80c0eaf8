import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { z } from 'zod';
import { TurnfoldError } from '../../../domain/errors.ts';
import type { Message } from '../../../domain/message.ts';
import type { Summarizer } from '../../../domain/summarizer.ts';
import { renderSummary } from '../../../domain/summary.ts';
import { describeAttachments } from '../../../summarize/model/pictures.ts';
import { estimateTokens } from '../../../summarize/structural/line-tokens.ts';
import { createStructuralSummarizer } from '../../../summarize/structural/structural-summarizer.ts';
import { loadTokenCounter } from '../../../wire/tokens/token-counter.ts';
import type { AccessOptions } from '../access.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { guardApp, openApp, readBody, serverFactsOf } from '../front-end/server-facts.ts';
import { answerResponseError, writeUsage } from '../responses/response-object.ts';
import {
  type CompactItem,
  type CompactRequest,
  compactSchema,
  readCompactRequest,
  readItemText,
} from './compact-request.ts';
import { shortenMessages } from './shorten.ts';

export interface CompactOptions extends AccessOptions, CompactServices {}

export interface CompactServices {
  /** Summarizers with a model, by the name that a request gives as `model`. */
  readonly summarizers?: Readonly<Record<string, Summarizer>>;
}

const compactedSchema = z
  .looseObject({
    id: z.string(),
    object: z.literal('response.compaction'),
    created_at: z.number(),
    output: z.array(z.looseObject({})),
    usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }),
    notes: z
      .array(z.looseObject({ at: z.string(), kind: z.string(), what: z.string() }))
      .optional()
      .describe('Items that the summary does not cover. Absent: the summary covers all items.'),
  })
  .meta({ id: 'CompactedItems' });

/** @param operation unique name of the operation */
export const compactRoute = (operation: string, base: `/${string}`): ProtocolRoute => ({
  operation,
  method: 'post',
  path: `${base}/responses/compact`,
  scopes: ['enqueue'],
  summary: 'Compact the items of any agent. The request names no conversation, and nothing is stored.',
  body: compactSchema,
  errors: ['too_many_readers'],
  results: {
    'application/json': compactedSchema,
  },
});

export const compactRoutes: readonly ProtocolRoute[] = [compactRoute('compactItems', '/v1')];

const STRUCTURAL = 'structural';

/** Compacts the items of any agent, without a conversation. @throws invalid_config without `authenticate` */
export function compactApp(options: CompactOptions): Hono {
  return guardApp(openCompact(options), compactRoutes, options, answerResponseError);
}

export function openCompact({ summarizers = {} }: CompactServices = {}): Hono {
  const app = openApp(answerResponseError);
  addCompact(app, { summarizers }, '/v1');
  return app;
}

/** @param base path before `/responses` */
export function addCompact(app: Hono, { summarizers = {} }: CompactServices, base: string): void {
  app.post(`${base}/responses/compact`, async (context) => {
    const request = readCompactRequest(await readBody(context));
    const { readers } = serverFactsOf(context);
    return context.json(await readers.run(context.req.raw, (signal) => compact(request, summarizers, signal)));
  });
}

/** Keeps instructions and users' messages. Without a model, the same request gives the same summary. */
async function compact(
  request: CompactRequest,
  summarizers: Readonly<Record<string, Summarizer>>,
  signal: AbortSignal,
): Promise<object> {
  const { kept, open, messages } = request;
  // Clients name the model of their agent, for which this server may have no summarizer.
  const model = Object.hasOwn(summarizers, request.model) ? request.model : STRUCTURAL;
  const before = countTokens([
    ...messages.map(({ content, toolCalls = [] }) => content + toolCalls.map((call) => call.arguments).join('')),
    ...[...kept, ...open].map(({ content, arguments: written = '' }) => readItemText(content) + written),
  ]);
  const text = messages.length === 0 ? '' : await writeSummary({ ...request, model }, summarizers, signal);
  const calls = open.map((item) => ({ id: `fc_${randomUUID()}`, status: 'completed', ...item }));
  const output = [...kept.map(writeKept), ...(text === '' ? [] : [writeItem(request, text)]), ...calls];
  const usage = writeUsage({ inputTokens: before, outputTokens: text === '' ? 0 : Math.round(estimateTokens(text)) });
  const createdAt = Math.floor(Date.now() / 1_000);
  const response = { id: `resp_${randomUUID()}`, object: 'response.compaction', created_at: createdAt, model };
  return { ...response, output, usage, ...(request.notes.length > 0 && { notes: request.notes }) };
}

async function writeSummary(
  { model, messages, maxTokens, userRequest }: CompactRequest,
  summarizers: Readonly<Record<string, Summarizer>>,
  signal: AbortSignal,
): Promise<string> {
  const counter = await loadTokenCounter('o200k_base');
  const { [model]: named } = summarizers;
  const isStructural = model === STRUCTURAL;
  const summarizer = isStructural || named === undefined ? createStructuralSummarizer({ counter }) : named;
  const answer = await summarizer.summarize({
    range: { from: 1, to: messages.length },
    messages: isStructural ? shortenMessages(messages) : messages,
    maxTokens,
    signal,
    ...(userRequest !== undefined && { userRequest }),
  });
  if (answer.status === 'written') return answer.text;
  // A text that no summary would shorten is kept whole.
  if (isStructural) return messages.flatMap(writeWhole).join('\n');
  throw new TurnfoldError('model_failed', `${model} wrote no summary: ${answer.why}`);
}

function writeWhole(message: Message): string[] {
  const { content, toolCalls = [] } = message;
  const calls = toolCalls.map((call) => `→ ${call.name} ${call.arguments}`);
  return [content, ...calls, ...describeAttachments(message, undefined)].filter((line) => line !== '');
}

function writeItem({ as, messages }: CompactRequest, text: string): object {
  // Clients of the protocol expect this field.
  if (as === 'compaction') return { id: `cmp_${randomUUID()}`, type: 'compaction', encrypted_content: text };
  const content = renderSummary(text, { from: 1, to: messages.length });
  return writeKept({ type: 'message', role: 'user', content });
}

function writeKept(item: CompactItem): object {
  const { content } = item;
  const listed = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
  return { id: `msg_${randomUUID()}`, status: 'completed', ...item, content: listed };
}

const SAMPLE_CHARS = 20_000;

/** Estimates from the starts of all texts. An exact count would take longer than the summary. */
function countTokens(texts: readonly string[]): number {
  const chars = texts.reduce((sum, { length }) => sum + length, 0);
  const each = Math.ceil(SAMPLE_CHARS / Math.max(1, texts.length));
  const sample = texts.map((text) => text.slice(0, each)).join('\n');
  return Math.round((estimateTokens(sample) * chars) / Math.max(1, sample.length));
}
