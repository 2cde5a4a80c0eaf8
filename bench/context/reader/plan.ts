import type { ModelPrices } from '../../../src/domain/model.ts';
import type { Measured } from '../measure.ts';
import { type BenchPoint, countTokens, FAMILIES } from '../points.ts';
import type { AskedQuestion } from '../quality/answers/topic.ts';
import { renderContext } from '../row.ts';
import { READER_SYSTEM, writeQuestions } from './prompt.ts';

/** One request to a reader: all questions about one context. */
export interface ReaderRequest {
  readonly measured: Measured;
  readonly questions: readonly AskedQuestion[];
  readonly text: string;
  readonly tokens: number;
}

/** Requests that fit the limits, with their size and the most that they can cost. */
export interface ReaderPlan {
  readonly requests: readonly ReaderRequest[];
  readonly inputTokens: number;
  readonly maxOutputTokens: number;
  /** US dollars. Undefined if the prices of the model are not known. */
  readonly maxCost: number | undefined;
}

export interface ReaderLimits {
  readonly maxRequests: number;
  /** Input and output tokens of all requests. */
  readonly maxTokens: number;
}

/** Maximum output tokens of one request. */
export const OUTPUT_TOKENS = 2_000;
const TOKENS_PRICED = 1_000_000;

/** A point with its contexts of one budget, one for each row that is read. */
export interface ReadPoint {
  readonly bench: Pick<BenchPoint, 'questions' | 'family'>;
  readonly contexts: readonly Measured[];
}

/**
 * Chooses points of all families in turn, so that a few requests see every family. All rows of a point are read, or none,
 * so that rows are compared over the same points.
 */
export function planReader(
  points: readonly ReadPoint[],
  limits: ReaderLimits,
  prices: Pick<ModelPrices, 'input' | 'output'> | undefined,
): ReaderPlan {
  const requests: ReaderRequest[] = [];
  let [inputTokens, maxOutputTokens] = [0, 0];
  for (const { bench, contexts } of takeInTurn(points)) {
    const next = contexts.map((measured) => writeRequest(measured, bench.questions.asked));
    const input = next.reduce((sum, { tokens }) => sum + tokens, 0);
    const output = next.length * OUTPUT_TOKENS;
    if (requests.length + next.length > limits.maxRequests) break;
    if (inputTokens + maxOutputTokens + input + output > limits.maxTokens) continue;
    requests.push(...next);
    inputTokens += input;
    maxOutputTokens += output;
  }
  const maxCost = prices && (inputTokens * prices.input + maxOutputTokens * prices.output) / TOKENS_PRICED;
  return { requests, inputTokens, maxOutputTokens, maxCost };
}

function takeInTurn(points: readonly ReadPoint[]): ReadPoint[] {
  const byFamily = FAMILIES.map((family) => points.filter(({ bench }) => bench.family === family));
  const most = Math.max(0, ...byFamily.map(({ length }) => length));
  const asked = Array.from({ length: most }, (_, index) =>
    byFamily.flatMap((own) => own.slice(index, index + 1)),
  ).flat();
  return asked.filter(({ bench, contexts }) => bench.questions.asked.length > 0 && contexts.length > 0);
}

function writeRequest(measured: Measured, questions: readonly AskedQuestion[]): ReaderRequest {
  const text = writeQuestions(renderContext(measured.context), questions);
  return { measured, questions, text, tokens: countTokens(READER_SYSTEM) + countTokens(text) };
}

/** E.g. `30 requests, 61000 input tokens, at most 60000 output tokens, at most $0.42`. */
export function describePlan({ requests, inputTokens, maxOutputTokens, maxCost }: ReaderPlan): string {
  const cost =
    maxCost === undefined ? 'price not known' : `at most $${maxCost < 1 ? maxCost.toPrecision(2) : maxCost.toFixed(2)}`;
  return `${requests.length} requests, ${inputTokens} input tokens, at most ${maxOutputTokens} output tokens, ${cost}`;
}
