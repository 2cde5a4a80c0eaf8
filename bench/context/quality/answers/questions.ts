import type { Recording } from '../corpus.ts';
import { findEdits } from './files.ts';
import { readSourceLog } from './log.ts';
import { findOutcomes } from './outcomes.ts';
import { findRules } from './rules.ts';
import { findStatements } from './statements.ts';
import { findTestRun } from './test-runs.ts';
import { findTodoList } from './todo-list.ts';
import { ANSWER_KINDS, type AskedQuestion, ContextText, type Grade, type Grades, type Topic } from './topic.ts';
import { findValues } from './values.ts';

/** Questions of one cut. Code finds both the questions and their answers in the messages before the cut. */
export class Questions {
  readonly #topics: readonly Topic[];

  constructor(recording: Recording, cut: number) {
    const log = readSourceLog(recording, cut);
    const found = [findStatements, findRules, findValues, findOutcomes, findEdits, findTestRun, findTodoList];
    this.#topics = found.map((find) => find(log)).filter((topic) => topic !== undefined);
  }

  /** The questions in words, for a reader. */
  get asked(): readonly AskedQuestion[] {
    return this.#topics.flatMap(({ asked }) => asked);
  }

  /** Looks the answers up in a context, literally. Other words for the same answer do not count. */
  grade(context: string): Grades {
    const text = new ContextText(context);
    return Object.assign({}, ...this.#topics.map((topic) => topic.grade(text))) as Grades;
  }
}

export function shareRight({ asked, right }: Grade): number {
  return right / asked;
}

/** Answerability (A): mean of the kinds that a point has. Undefined if it has none. */
export function answerability(grades: Grades): number | undefined {
  const shares = ANSWER_KINDS.flatMap((kind) => (grades[kind] === undefined ? [] : [shareRight(grades[kind])]));
  return shares.length === 0 ? undefined : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
