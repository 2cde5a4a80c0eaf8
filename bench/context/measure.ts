import { type BenchPoint, countTokens, FAMILIES, type Family } from './points.ts';
import { answerability } from './quality/answers/questions.ts';
import type { Grades } from './quality/answers/topic.ts';
import { findBrokenGuards, type Guard, type QualityScore } from './quality/score.ts';
import { type CompactedContext, type Row, renderContext } from './row.ts';

/** Token budgets apply to sources of at least this size. A share of the source applies to all. */
const MIN_TOKENS_OF_LONG = 20_000;

/** A row's context of one point, measured. */
export interface Measured extends QualityScore {
  readonly row: string;
  readonly family: Family;
  readonly conversation: string;
  readonly cut: number;
  readonly maxTokens: number;
  /** Tokens of the context ÷ `maxTokens`. */
  readonly fill: number;
  readonly broken: readonly Guard[];
  /** Answers of the context to questions about its own past. */
  readonly grades: Grades;
  /** Mean of the grades (A). */
  readonly answers: number | undefined;
  readonly ms: number;
  readonly context: CompactedContext;
}

/** @returns maximum tokens of the context, or undefined if the source is too short for this budget */
export function maxTokensOf(budget: number, sourceTokens: number): number | undefined {
  if (budget < 1) return Math.floor(budget * sourceTokens);
  return sourceTokens < MIN_TOKENS_OF_LONG ? undefined : budget;
}

/** @returns undefined if the row makes no context of that size */
export async function measureRow(row: Row, bench: BenchPoint, maxTokens: number): Promise<Measured | undefined> {
  const startMs = performance.now();
  const context = await row.compact(bench, maxTokens);
  const ms = performance.now() - startMs;
  return context === undefined ? undefined : { row: row.name, ms, ...measureContext(bench, context, maxTokens) };
}

export function measureContext(
  { point, scorer, questions, family }: BenchPoint,
  context: CompactedContext,
  maxTokens: number,
): Omit<Measured, 'row' | 'ms'> {
  const text = renderContext(context);
  const tokens = countTokens(text);
  const score = scorer.score(text);
  const messages = typeof context === 'string' ? [] : context;
  const { sourceDensity } = scorer;
  const broken = findBrokenGuards({ score, sourceDensity, tokens, maxTokens, messages });
  const grades = questions.grade(text);
  const place = { family, conversation: point.recording.id, cut: point.cut };
  const guarded = { maxTokens, fill: tokens / maxTokens, broken };
  return { ...score, ...place, ...guarded, grades, answers: answerability(grades), context };
}

/** Mean over the points of each family, then over the families. NaN if no point has a value. */
export function meanOfFamilies<Item extends { readonly family: Family }>(
  all: readonly Item[],
  valueOf: (item: Item) => number | undefined,
): number {
  const means = FAMILIES.flatMap((family) => {
    const values = all.filter((one) => one.family === family).flatMap((one) => valueOf(one) ?? []);
    return values.length === 0 ? [] : [meanOf(values)];
  });
  return meanOf(means);
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
