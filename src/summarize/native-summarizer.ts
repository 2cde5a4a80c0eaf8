import type { Clock } from '../domain/clock.ts';
import type { Message } from '../domain/message.ts';
import type { Model, ModelCompaction, ModelUsage, ToolDescription } from '../domain/model.ts';
import { checkModelCompaction } from '../domain/model-answer.ts';
import { type RawItem, type RawItems, readRawItems } from '../domain/raw-items.ts';
import type { Summarizer, SummaryAnswer, SummaryRequest } from '../domain/summarizer.ts';
import type { Tracing } from '../domain/tracing.ts';
import { checkUsage } from '../domain/usage.ts';
import type { TokenCounter } from '../wire/tokens/token-counter.ts';
import { hashTexts, timeCall } from './model/model-call.ts';

export interface NativeSummarizerOptions {
  /** The agent's model, because no other model can read its provider's compaction. */
  readonly model: Model & Required<Pick<Model, 'compact'>>;
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly tracing?: Tracing | undefined;
  readonly fallback: Summarizer;
  /** Time limit of a call without a stream, in milliseconds. Default: derived from the size of the call. */
  readonly callTimeoutMs?: number;
}

/**
 * Uses the provider's own compaction, with which later requests to this model start. Providers accept it only at the
 * start of the context, so other messages are refused. Its text is for people and other models.
 */
export function createNativeSummarizer(options: NativeSummarizerOptions): Summarizer {
  const { model, fallback } = options;
  return {
    id: `native ${model.profile.id}`,
    async summarize(request) {
      if (request.opensVersion === undefined) {
        return { status: 'refused', why: "a provider's compaction must be at the start of the context" };
      }
      const result = await askForCompaction(options, request);
      if (result.status === 'overflow')
        return { status: 'refused', why: "the messages are larger than the model's context window" };
      if (result.status === 'failed') return result;
      const { text: said, raw, usage } = result.answer;
      const items = readRawItems({ raw });
      if (items === undefined) return { status: 'failed', why: "the provider's compaction has an unknown format" };
      const written =
        said === undefined ? await fallback.summarize(request) : ({ status: 'written', text: said } as const);
      if (written.status !== 'written') return written;
      const tokens = await countOwn(options.counter, items, usage);
      const isUpdate = request.earlier !== undefined && said !== undefined;
      return { ...written, isUpdate, own: { raw: items, tokens } } satisfies SummaryAnswer;
    },
  };
}

async function askForCompaction(options: NativeSummarizerOptions, request: SummaryRequest) {
  const { model, system, tools, counter, clock, tracing, callTimeoutMs } = options;
  const messages = contextOf(request);
  const texts = [system, JSON.stringify(tools), ...messages.map(textOf)];
  const tokens = await counter.count(texts.join('\n'));
  const { outputCapTokens: maxOutputTokens } = model.profile;
  return await timeCall<ModelCompaction>(
    { model, clock, callTimeoutMs, tracing },
    { tokens, maxOutputTokens, isStreamed: false },
    request,
    async ({ signal }) =>
      checkModelCompaction(
        await model.compact({
          system,
          tools,
          messages,
          tokens,
          version: request.opensVersion ?? 0,
          idempotencyKey: `compaction-${hashTexts(...texts)}`,
          signal,
        }),
      ),
  );
}

/** Tokens of a compaction: the provider's count of items that it wrote, turnfold's count of messages that it kept. */
async function countOwn(counter: TokenCounter, { items }: RawItems, usage: ModelUsage | undefined): Promise<number> {
  const [written, kept] = [items.filter(isWritten), items.filter((item) => !isWritten(item))];
  const writtenTokens = checkUsage(usage)?.output ?? (await counter.count(JSON.stringify(written)));
  return writtenTokens + (kept.length === 0 ? 0 : await counter.count(JSON.stringify(kept)));
}

function isWritten({ type }: RawItem): boolean {
  return type === 'compaction';
}

/** Messages of the range as the model last read them, with earlier summaries instead of their messages. */
function contextOf({ range, messages, earlier = [] }: SummaryRequest): Message[] {
  const context: Message[] = [];
  let next = range.from;
  for (const { text, covers, raw } of earlier) {
    context.push(...messages.slice(next - range.from, covers.from - range.from));
    context.push({ role: 'summary', content: text, summary: covers, ...(raw === undefined ? {} : { raw }) });
    next = covers.to + 1;
  }
  return [...context, ...messages.slice(next - range.from)];
}

function textOf({ content, toolCalls = [] }: Message): string {
  return [content, ...toolCalls.map(({ name, arguments: given }) => `${name}${given}`)].join('\n');
}
