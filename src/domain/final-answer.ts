import type { z } from 'zod';
import { readJsonText } from './json-text.ts';
import type { Message } from './message.ts';
import { joinPath, safeParse } from './parse.ts';

/** Schema of a final answer. Only the answer's JSON is stored, so transformations of the schema have no effect. */
export type AnswerSchema<Value = unknown> = z.ZodType<unknown, Value>;

type CheckedAnswer =
  | { readonly status: 'valid' }
  | {
      readonly status: 'invalid';
      /** Explanation for the model. It may quote names from the model's answer. */
      readonly why: string;
      /** Empty if the answer is no JSON. */
      readonly fields: readonly string[];
    };

/** JSON in one block of code, as many models write it. */
const FENCED = /^```(?:json)?[ \t]{0,8}\r?\n([^]*)```$/;

export function readJsonAnswer(content: string): unknown {
  const text = content.trim();
  return readJsonText(FENCED.exec(text)?.[1] ?? text);
}

const MAX_PROBLEMS = 10;

export function checkFinalAnswer(schema: AnswerSchema, content: string): CheckedAnswer {
  const value = readJsonAnswer(content);
  if (value === undefined) return { status: 'invalid', why: 'it is not one JSON value', fields: [] };
  const read = safeParse(schema, value, { at: '', code: 'invalid_input' });
  if (read.success) return { status: 'valid' };
  const problems = read.problems.slice(0, MAX_PROBLEMS);
  return {
    status: 'invalid',
    why: problems.map(({ message }) => message).join('. '),
    fields: problems.map(({ field = '' }) => joinPath(field, [])),
  };
}

/** A worker recognizes by these words that it has already asked. */
const REPAIR = 'Your last answer does not match the required JSON Schema: ';

export function askForRepair(why: string): Message {
  const ask = 'Answer again with one JSON value that matches the schema, and with nothing else.';
  return { role: 'user', content: `${REPAIR}${why.toWellFormed()}. ${ask}` };
}

export function isAskedForRepair(messages: readonly Message[]): boolean {
  return messages.findLast(({ role }) => role === 'user')?.content.startsWith(REPAIR) === true;
}
