import { type Model, ModelError } from '../../../src/domain/model.ts';
import type { Progress } from '../progress.ts';
import { answerability } from '../quality/answers/questions.ts';
import { type AnswerKind, type Grade, type Grades } from '../quality/answers/topic.ts';
import { OUTPUT_TOKENS, type ReaderPlan, type ReaderRequest } from './plan.ts';
import { READER_SYSTEM, readAnswers } from './prompt.ts';

/** Answers of a reader about one context, graded by code. */
export interface Reading {
  readonly row: string;
  readonly family: ReaderRequest['measured']['family'];
  readonly conversation: string;
  /** Grades of the reader's answers. */
  readonly grades: Grades;
  readonly answers: number | undefined;
  /** Answerability of the same context, looked up by code. */
  readonly byCode: number | undefined;
}

export interface Readings {
  readonly readings: readonly Reading[];
  /** Messages of failed requests. */
  readonly failures: readonly string[];
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** After this many failed requests in a row, a reader does not ask again. */
const MAX_FAILED = 3;

/** Asks a model the questions of a plan, one request after the other. Each request has one context and nothing else. */
export async function askReader(
  model: Pick<Model, 'generate'>,
  plan: ReaderPlan,
  progress?: Progress,
): Promise<Readings> {
  const readings: Reading[] = [];
  const failures: string[] = [];
  let [inputTokens, outputTokens, failed] = [0, 0, 0];
  for (const [index, request] of plan.requests.entries()) {
    progress?.report(index, plan.requests.length);
    if (failed >= MAX_FAILED) break;
    try {
      const { content, usage } = await generate(model, request, index);
      inputTokens += usage?.inputTotal ?? request.tokens;
      outputTokens += usage?.output ?? 0;
      failed = 0;
      readings.push(gradeReading(request, content));
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      failures.push(error.message);
      failed += 1;
    }
  }
  return { readings, failures, inputTokens, outputTokens };
}

function generate(model: Pick<Model, 'generate'>, { text, tokens }: ReaderRequest, index: number) {
  return model.generate({
    system: READER_SYSTEM,
    tools: [],
    messages: [{ role: 'user', content: text }],
    tokens,
    maxOutputTokens: OUTPUT_TOKENS,
    idempotencyKey: `bench-reader/${index}`,
    signal: new AbortController().signal,
  });
}

function gradeReading({ measured, questions }: ReaderRequest, written: string): Reading {
  const { row, family, conversation } = measured;
  const answers = readAnswers(written, questions.length);
  const grades: Partial<Record<AnswerKind, Grade>> = {};
  for (const [index, { kinds, grade }] of questions.entries()) {
    const graded = grade(answers[index] ?? '');
    for (const kind of kinds) grades[kind] = addGrades(grades[kind], graded);
  }
  return { row, family, conversation, grades, answers: answerability(grades), byCode: measured.answers };
}

function addGrades(one: Grade | undefined, other: Grade): Grade {
  if (one === undefined) return other;
  return { asked: one.asked + other.asked, right: one.right + other.right, wrong: one.wrong + other.wrong };
}
