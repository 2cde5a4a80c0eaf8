import type { z } from 'zod';
import { readJsonText } from './json-text.ts';
import type { Message } from './message.ts';
import { joinPath, safeParse } from './parse.ts';

/** Schema of an agent's final answers. Only its JSON form is kept, so transformations have no effect. */
export type AnswerSchema<Value = unknown> = z.ZodType<unknown, Value>;

export type CheckedAnswer =
  | { readonly status: 'valid' }
  | {
      readonly status: 'invalid';
      /** Problems in words for the model, which may quote names from its answer. */
      readonly why: string;
      /** Paths of the wrong fields. Empty if the answer is no JSON. */
      readonly fields: readonly string[];
    };

/** Matches an answer that is one block of code, as many models write JSON. */
const FENCED = /^```(?:json)?[ \t]{0,8}\r?\n([^]*)```$/;

/** Returns the JSON value of a final answer, or undefined if the answer is no JSON. */
export function readJsonAnswer(content: string): unknown {
  const text = content.trim();
  return readJsonText(FENCED.exec(text)?.[1] ?? text);
}

/** Problems that the model is asked to correct. More would only cost tokens. */
const MAX_PROBLEMS = 10;

export function checkFinalAnswer(schema: AnswerSchema, content: string): CheckedAnswer {
  const value = readJsonAnswer(content);
  if (value === undefined) return { status: 'invalid', why: 'it is not one JSON value', fields: [] };
  const read = safeParse(schema, value, '', 'invalid_input');
  if (read.success) return { status: 'valid' };
  const problems = read.problems.slice(0, MAX_PROBLEMS);
  return {
    status: 'invalid',
    why: problems.map(({ message }) => message).join('. '),
    fields: problems.map(({ field = '' }) => joinPath(field, [])),
  };
}

/** Begins the message that asks for a corrected answer. A worker recognizes the message by these words. */
const REPAIR = 'Your last answer does not match the required JSON Schema: ';

/** Builds the message that asks the model once for a corrected answer. */
export function askForRepair(why: string): Message {
  const ask = 'Answer again with one JSON value that matches the schema, and with nothing else.';
  return { role: 'user', content: `${REPAIR}${why.toWellFormed()}. ${ask}` };
}

/** True if the model was asked for a corrected answer since the last message of a user. */
export function isAskedForRepair(messages: readonly Message[]): boolean {
  return messages.findLast(({ role }) => role === 'user')?.content.startsWith(REPAIR) === true;
}
