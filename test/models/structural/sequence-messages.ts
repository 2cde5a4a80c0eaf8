import type { Message } from '../../../src/domain/message.ts';
import type { SummaryAnswer, SummaryRequest } from '../../../src/domain/summarizer.ts';
import { createStructuralSummarizer } from '../../../src/summarize/structural/structural-summarizer.ts';
import { type BpeTokenCounter, loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';

export type Summarize = (request: Partial<SummaryRequest>) => Promise<SummaryAnswer>;

export interface Fixture {
  readonly counter: BpeTokenCounter;
  readonly summarize: Summarize;
  /** @throws Error if the summary is refused, or has more tokens than allowed */
  readonly write: (request: Partial<SummaryRequest>) => Promise<string>;
}

export async function openFixture(): Promise<Fixture> {
  const counter = await loadTokenCounter('o200k_base');
  const summarizer = createStructuralSummarizer({ counter });
  const summarize: Summarize = ({ messages = [], maxTokens = 500, ...rest }) =>
    summarizer.summarize({
      range: { from: 1, to: Math.max(1, messages.length) },
      signal: new AbortController().signal,
      messages,
      maxTokens,
      ...rest,
    });
  return {
    counter,
    summarize,
    async write(request) {
      const answer = await summarize(request);
      if (answer.status !== 'written') throw new Error(`${answer.status}: ${answer.why}`);
      const tokens = counter.countSync(answer.text);
      if (tokens > (request.maxTokens ?? 500)) throw new Error(`${tokens} tokens, wanted ${request.maxTokens}`);
      return answer.text;
    },
  };
}

export function countSource(counter: BpeTokenCounter, messages: readonly Message[]): number {
  const texts = messages.map(({ content, toolCalls = [] }) =>
    [content, ...toolCalls.map((call) => call.name + call.arguments)].join(''),
  );
  return texts.reduce((sum, text) => sum + counter.countSync(text), 0);
}

export function say(content: string): Message {
  return { role: 'assistant', content };
}

export function summary(content: string): Message {
  return { role: 'summary', content, summary: { from: 1, to: 9 } };
}

interface RoundOptions {
  readonly id: string;
  readonly name?: string;
  readonly given?: Readonly<Record<string, unknown>> | string;
  readonly result?: string;
  readonly isError?: boolean;
}

/** A call and its result. */
export function round({ id, name = 'read', given = {}, result = 'nothing much', isError }: RoundOptions): Message[] {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return [
    { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: text }] },
    { role: 'tool', content: result, toolCallId: id, ...(isError === undefined ? {} : { isError }) },
  ];
}

/** Text long enough that the cap limits the summary, not the source. */
export function ballast(words: number): Message {
  return say(Array.from({ length: words }, (_, index) => `word${'abcdefghij'[index % 10]}`).join(' '));
}
