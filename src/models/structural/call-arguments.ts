import { classifyWord, findLiterals, findWords, type Literal } from './literals.ts';
import { clipText, foldLine, takeEnds } from './text.ts';

/** One argument of a call. */
export interface Argument {
  readonly key: string;
  /** a string as it is, anything else as JSON */
  readonly value: string;
}

/** A key whose value names something, whatever it looks like: `branch: main`. */
const NAMING_KEY =
  /(?:^|_|[a-z])(?:ids?|path|file|code|number|date|url|ref|branch|Ids?|Path|File|Code|Number|Date|Url)$/;
const MAX_NAME_CHARS = 64;
const JSON_MARKS = /[{}"[\]]+/g;

/** Arguments in the order written; text that is not a JSON object is one argument without a key. */
export function readArguments(text: string): Argument[] {
  const value = parseObject(text);
  if (value === undefined) return text.trim() === '' ? [] : [{ key: '', value: text }];
  return Object.entries(value).map(([key, item]) => ({
    key,
    value: typeof item === 'string' ? item : JSON.stringify(item),
  }));
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The literals of all values, and the short values that stand under a naming key. */
export function* findArgumentLiterals(given: readonly Argument[]): Generator<Literal> {
  for (const { key, value } of given) {
    const isName = NAMING_KEY.test(key) && value.length >= 3 && value.length <= MAX_NAME_CHARS;
    const [word] = isName ? findWords(value) : [];
    if (word === value && classifyWord(value) === undefined) yield { text: value, kind: 'id' };
    else yield* findLiterals(takeEnds(value));
  }
}

/** All arguments on one line of at most `maxChars`; long values are clipped first. The key of a lone argument is left out. */
export function renderArguments(given: readonly Argument[], maxChars: number): string {
  const isLone = given.length === 1;
  const parts = given.map(({ key, value }) => ({
    label: isLone ? '' : `${foldLine(key)}=`,
    value: foldValue(value, maxChars),
  }));
  const labelChars = parts.reduce((sum, { label }) => sum + label.length + 1, 0);
  const limit = valueLimit(
    parts.map(({ value }) => value.length),
    maxChars - labelChars,
  );
  return clipText(parts.map(({ label, value }) => label + clipText(value, limit)).join(' '), maxChars);
}

/** Folds what a line can show of a text, and leaves out the marks of JSON, which cost a token each. */
export function foldValue(text: string, maxChars: number): string {
  const start = clipText(text, maxChars * 2);
  const isJson = start.startsWith('{') || start.startsWith('[');
  return foldLine(isJson ? start.replace(JSON_MARKS, '') : start);
}

/** The length at which values must be clipped so that all of them fit into `budget`: short ones leave theirs to long ones. */
function valueLimit(lengths: readonly number[], budget: number): number {
  let left = budget;
  let limit = budget;
  lengths
    .toSorted((a, b) => a - b)
    .forEach((length, index) => {
      limit = Math.max(1, Math.floor(left / (lengths.length - index)));
      left -= Math.min(length, limit);
    });
  return limit;
}
