import type { Message } from '../../../src/domain/message.ts';
import type { Model, ModelProfile, ModelRequest } from '../../../src/domain/model.ts';
import type { SummaryAnswer, SummaryCall, SummaryRequest } from '../../../src/domain/summarizer.ts';
import { type ScriptedOutcome, scriptedModel } from '../../../src/providers/scripted.ts';
import { createModelSummarizer } from '../../../src/summarize/model/model-summarizer.ts';
import type { Section } from '../../../src/summarize/model/sections.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';

export interface WorldOptions {
  readonly decide?: (request: ModelRequest) => ScriptedOutcome;
  readonly profile?: Partial<ModelProfile>;
  readonly prompt?: string;
  readonly callTimeoutMs?: number;
  readonly hasCachedPrefix?: boolean;
  readonly wrap?: (model: Model) => Model;
}

/** Opens a summarizer with a scripted model, and collects all its requests and reports. */
export async function openWorld({
  decide = () => ({ content: RECORD }),
  profile,
  wrap = (model) => model,
  ...options
}: WorldOptions = {}) {
  const requests: ModelRequest[] = [];
  const calls: SummaryCall[] = [];
  const counter = await loadTokenCounter('o200k_base');
  const model = scriptedModel({
    profile: { id: 'small', ...profile },
    decide: (request) => {
      requests.push(request);
      return decide(request);
    },
  });
  const clock = { now: () => 0 };
  const summarizer = createModelSummarizer({ model: wrap(model), counter, clock, ...options });
  return {
    requests,
    calls,
    counter,
    summarize(request: Partial<SummaryRequest> = {}): Promise<SummaryAnswer> {
      const { messages = HISTORY } = request;
      return summarizer.summarize({
        range: { from: 11, to: 10 + messages.length },
        messages,
        maxTokens: 400,
        signal: new AbortController().signal,
        onCall: (call) => calls.push(call),
        ...request,
      });
    },
  };
}

/** Returns the text of the only message of a request. */
export function contentOf({ messages }: ModelRequest): string {
  return messages.map(({ content }) => content).join('\n');
}

/** Words of the agent that `RECORD` quotes. */
export const PLAN = say(
  'The shop moves to the new address.\n\nShip by rail, because the road is closed.\n\nBook the wagon.',
);

export type Quotes = Partial<Record<Section, readonly string[]>>;

export const QUOTES: Quotes = {
  state: ['The shop moves to the new address.'],
  decisions: ['Ship by rail, because the road is closed.'],
  next: ['Book the wagon.'],
};

/** Writes an answer in the form that the request asks for. */
export function record(quotes: Quotes): string {
  return JSON.stringify(quotes, undefined, 2);
}

export const RECORD = record(QUOTES);

export function say(content: string): Message {
  return { role: 'assistant', content };
}

interface Call {
  readonly id: string;
  readonly name?: string;
  readonly given?: Readonly<Record<string, unknown>>;
  readonly result?: string;
  readonly isError?: boolean;
}

export function round({ id, name = 'book_wagon', given = {}, result = 'done', isError = false }: Call): Message[] {
  return [
    { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: JSON.stringify(given) }] },
    { role: 'tool', content: result, toolCallId: id, isError },
  ];
}

/** Returns text with the given number of words, without repeated lines. */
export function prose(words: number, seed = 0): string {
  const names = ['rail', 'road', 'crate', 'shelf', 'lamp', 'clerk', 'ledger', 'gate', 'sign', 'paint', 'roof'];
  return Array.from(
    { length: words },
    (_, at) => `${names[(at * 7 + seed * 3 + (at >> 3)) % names.length]}${at % 13}`,
  ).join(' ');
}

export const HISTORY: readonly Message[] = [
  say(prose(300)),
  ...round({ id: 'c1', name: 'read_file', given: { path: 'docs/moving.md' }, result: prose(200, 1) }),
  ...round({ id: 'c2', given: { order_id: 'W-4711' }, result: 'booked as R88210' }),
  say(`${prose(300, 2)}\n\n${PLAN.content}`),
];
