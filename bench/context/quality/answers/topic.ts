import { readStatedCalls, type StatedCall } from './stated-calls.ts';

/** Kinds of questions that an agent has about its own past. Each has one answer in the log. */
export const ANSWER_KINDS = [
  'goal',
  'ask',
  'rules',
  'value',
  'usedValue',
  'outcome',
  'failure',
  'edited',
  'lastEdit',
  'test',
  'todo',
  'said',
] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];

/** Answers that a text gives to the questions of one kind. The text is silent about the rest of `asked`. */
export interface Grade {
  readonly asked: number;
  readonly right: number;
  readonly wrong: number;
}

export type Grades = Readonly<Partial<Record<AnswerKind, Grade>>>;

/** A question in words, for a reader that has only a context. */
export interface AskedQuestion {
  /** The answer counts for each of these kinds. */
  readonly kinds: readonly AnswerKind[];
  readonly text: string;
  /** Grades what the reader answered. An empty answer is neither right nor wrong. */
  readonly grade: (answer: string) => Grade;
}

/** Questions about one side of a log, e.g. the files that were changed. */
export interface Topic {
  /** Looks the answers up in a context. */
  readonly grade: (context: ContextText) => Grades;
  /** The same questions in words. Questions with many answers are only some of them. */
  readonly asked: readonly AskedQuestion[];
}

/** A context as one text, with the forms of it that several topics search. */
export class ContextText {
  readonly text: string;
  readonly lower: string;
  #calls: readonly StatedCall[] | undefined;

  constructor(text: string) {
    this.text = text;
    this.lower = text.toLowerCase();
  }

  /** Calls that the text states, with their results. */
  get calls(): readonly StatedCall[] {
    this.#calls ??= readStatedCalls(this.text);
    return this.#calls;
  }
}

/** Grade of one question with the answer yes or no. */
export function gradeOne(isRight: boolean, isWrong = false): Grade {
  return { asked: 1, right: Number(isRight), wrong: Number(isWrong) };
}

/** Grades a list of questions, each `right`, `wrong` or, if undefined, without an answer. */
export function gradeAll(marks: readonly ('right' | 'wrong' | undefined)[]): Grade {
  const count = (wanted: 'right' | 'wrong'): number => marks.filter((mark) => mark === wanted).length;
  return { asked: marks.length, right: count('right'), wrong: count('wrong') };
}
