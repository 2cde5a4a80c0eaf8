import { randomUUID } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { fieldError, TurnfoldError } from '../../domain/errors.ts';
import type { Message } from '../../domain/message.ts';
import type { Summarizer } from '../../domain/ports/summarizer.ts';
import { renderSummary } from '../../domain/summary.ts';
import { estimateTokens } from '../../models/structural/line-tokens.ts';
import { createStructuralSummarizer } from '../../models/structural/structural-summarizer.ts';
import { loadTokenCounter } from '../../tokens/token-counter.ts';
import { answerProblems, readBody } from '../front-end/server-facts.ts';
import { writeUsage } from '../responses/response-object.ts';
import { type CompactRequest, type Item, readCompactRequest, readText } from './compact-request.ts';
import { shortenMessages } from './shorten.ts';

export interface CompactOptions {
  /** Throws a `TurnfoldError` to refuse a request. */
  readonly authorize?: (context: Context) => void | Promise<void>;
  /** Summarizers with a model, by the name that a request gives as `model`. */
  readonly summarizers?: Readonly<Record<string, Summarizer>>;
}

const STRUCTURAL = 'structural';

/** `POST /v1/responses/compact`: compacts the items of any agent, without a conversation. */
export function compactApp({ authorize, summarizers = {} }: CompactOptions = {}): Hono {
  const app = new Hono();
  answerProblems(app);
  app.post('/v1/responses/compact', async (context) => {
    await authorize?.(context);
    const body = await readBody(context);
    return context.json(await compact(readCompactRequest(body), summarizers, context.req.raw.signal));
  });
  return app;
}

/**
 * Summarizes all but the users' messages and the instructions. Without a model, the same request gives the same output.
 * @throws invalid_input for an unknown model, model_failed if the model wrote no summary
 */
async function compact(
  request: CompactRequest,
  summarizers: Readonly<Record<string, Summarizer>>,
  signal: AbortSignal,
): Promise<object> {
  const { model, kept, open, messages } = request;
  const before = countTokens([...messages.map(textOf), ...[...kept, ...open].map(textOfItem)]);
  const text = messages.length === 0 ? '' : await writeSummary(request, summarizers, signal);
  const output = [...kept.map(writeKept), ...(text === '' ? [] : [writeItem(request, text)]), ...open];
  const usage = writeUsage({ inputTokens: before, outputTokens: text === '' ? 0 : estimateTokens(text) });
  const createdAt = Math.floor(Date.now() / 1_000);
  return { id: `resp_${randomUUID()}`, object: 'response.compaction', created_at: createdAt, model, output, usage };
}

async function writeSummary(
  { model, messages, maxTokens, userRequest }: CompactRequest,
  summarizers: Readonly<Record<string, Summarizer>>,
  signal: AbortSignal,
): Promise<string> {
  const isStructural = model === STRUCTURAL;
  const counter = await loadTokenCounter('o200k_base');
  const summarizer = isStructural ? createStructuralSummarizer({ counter }) : summarizers[model];
  if (summarizer === undefined) {
    const names = [STRUCTURAL, ...Object.keys(summarizers)].join(', ');
    throw fieldError('invalid_input', 'model', `expected one of ${names}`);
  }
  const answer = await summarizer.summarize({
    range: { from: 1, to: messages.length },
    messages: isStructural ? shortenMessages(messages) : messages,
    maxTokens,
    signal,
    ...(userRequest !== undefined && { userRequest }),
  });
  if (answer.status === 'written') return answer.text;
  // A text that cannot get smaller stays as it is.
  if (isStructural) return messages.map(({ content }) => content).join('\n');
  throw new TurnfoldError('model_failed', `${model} wrote no summary: ${answer.why}`);
}

function writeItem({ as, messages }: CompactRequest, text: string): object {
  // Clients of the protocol expect this field. The text in it can be read.
  if (as === 'compaction') return { id: `cmp_${randomUUID()}`, type: 'compaction', encrypted_content: text };
  const content = renderSummary(text, { from: 1, to: messages.length });
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text: content }] };
}

function writeKept(item: Item): object {
  if (typeof item.content !== 'string') return item;
  return { ...item, content: [{ type: 'input_text', text: item.content }] };
}

/** Characters from which the tokens of all are estimated. */
const SAMPLE_CHARS = 20_000;

/** Estimates the tokens of texts from the starts of all of them. An exact count would take longer than the summary. */
function countTokens(texts: readonly string[]): number {
  const chars = texts.reduce((sum, { length }) => sum + length, 0);
  const each = Math.ceil(SAMPLE_CHARS / Math.max(1, texts.length));
  const sample = texts.map((text) => text.slice(0, each)).join('\n');
  return Math.round((estimateTokens(sample) * chars) / Math.max(1, sample.length));
}

function textOf({ content, toolCalls = [] }: Message): string {
  return content + toolCalls.map((call) => call.arguments).join('');
}

function textOfItem({ content, arguments: written = '' }: Item): string {
  return readText(content) + written;
}
