import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

/** Words for the types that a schema can expect. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  never: 'no value',
};

const MAX_VALUES = 20;

/** Explains why a schema without a sentence of its own refuses a value. Undefined: the sentence of zod stays. */
export function explainIssue(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? `expected ${nameType(issue)}, and got nothing` : `expected ${nameType(issue)}`;
    case 'too_small':
      return writeBound(issue.origin, issue.minimum, issue.inclusive === false ? 'more than' : 'at least');
    case 'too_big':
      return writeBound(issue.origin, issue.maximum, issue.inclusive === false ? 'less than' : 'at most');
    case 'invalid_value':
      return `expected ${listValues(issue.values)}`;
    case 'unrecognized_keys':
      return 'no such field';
    case 'invalid_union':
      return 'the value has none of the allowed forms';
    default:
      return undefined;
  }
}

function nameType({ expected }: RawIssue & { readonly code: 'invalid_type' }): string {
  return TYPES[expected] ?? `a value of type ${expected}`;
}

/** Things that a bound counts. A bound of another origin is a number itself. */
const COUNTED: Readonly<Record<string, string>> = { string: 'character', array: 'item', set: 'item', map: 'member' };

function writeBound(origin: string, bound: number | bigint, comparison: string): string {
  const counted = COUNTED[origin];
  if (counted === undefined) return `expected a number of ${comparison} ${bound}`;
  return `expected ${comparison} ${bound} ${counted}${bound === 1 ? '' : 's'}`;
}

function listValues(values: readonly unknown[]): string {
  const shown = values.slice(0, MAX_VALUES).map((value) => (typeof value === 'string' ? value : String(value)));
  const rest = values.length > MAX_VALUES ? ', …' : '';
  return shown.length === 1 ? (shown[0] ?? '') : `one of ${shown.join(', ')}${rest}`;
}
