import { parseObject } from '../../wire/calls.ts';
import { classifyWord, findLiterals, findWords, type Literal } from './literals.ts';
import { clipCharacters, clipHead, clipMiddle, fairShare, foldLine, takeEnds } from './text.ts';

export interface Argument {
  readonly key: string;
  /** A string value unchanged. Any other value as JSON. */
  readonly value: string;
}

/** Matches keys whose values are always names, such as `branch: main`. */
const NAMING_KEY =
  /(?:^|_|[a-z])(?:ids?|path|file|code|number|date|url|ref|branch|Ids?|Path|File|Code|Number|Date|Url)$/;
const MAX_NAME_CHARS = 64;
const MAX_WORD_CHARS = 120;
const MIN_TEXT_CHARS = 16;
const MAX_SHOWN = 32;
const JSON_START = /^\s{0,8}[[{]/;
const JSON_MARKS = /[{}"[\]]+/g;
const JSON_COMMA = /,(?=\S)/g;

/** Reads arguments in order. Text that is not a JSON object is one argument without a key. */
export function readArguments(text: string): Argument[] {
  const value = parseObject(text);
  if (value === undefined) return text.trim() === '' ? [] : [{ key: '', value: text }];
  return Object.entries(value).map(([key, item]) => ({
    key,
    value: typeof item === 'string' ? item : JSON.stringify(item),
  }));
}

/**
 * Finds the literals (ids, paths, dates, numbers) in all values. A short value under a key such as `branch` is a
 * literal too.
 */
export function* findArgumentLiterals(given: readonly Argument[]): Generator<Literal> {
  for (const { key, value } of given) {
    const isName = NAMING_KEY.test(key) && value.length >= 3 && value.length <= MAX_NAME_CHARS;
    const [word] = isName ? findWords(value) : [];
    if (word === value && classifyWord(value) === undefined) yield { text: value, kind: 'id' };
    else
      for (const { text, kind } of findLiterals(takeEnds(value)))
        yield { text, kind: kind === 'count' ? 'number' : kind };
  }
}

/**
 * Renders arguments on one line of about `maxChars`. One-word values stay whole, so that the names survive. The others
 * share the rest. The key of a lone argument is left out.
 */
export function renderArguments(given: readonly Argument[], maxChars: number): string {
  const isLone = given.length === 1;
  const parts = given.slice(0, MAX_SHOWN).map(({ key, value }) => ({
    label: isLone ? '' : `${foldLine(clipCharacters(key, MAX_NAME_CHARS))}=`,
    value: foldMiddle(value, Math.max(maxChars, MAX_WORD_CHARS)),
  }));
  const [words, texts] = [parts.filter(isWord), parts.filter((part) => !isWord(part))];
  const used = words.reduce((sum, { value }) => sum + value.length, 0);
  const labels = parts.reduce((sum, { label }) => sum + label.length + 1, 0);
  const lengths = texts.map(({ value }) => value.length);
  const limit = Math.max(MIN_TEXT_CHARS, fairShare(lengths, maxChars - used - labels));
  return parts.map((part) => part.label + (isWord(part) ? part.value : clipValue(part.value, limit))).join(' ');
}

/** Keeps the end of a long path, because it names the file, and both ends of any other text. */
function clipValue(value: string, maxChars: number): string {
  return value.includes(' ') ? clipMiddle(value, maxChars) : clipHead(value, maxChars);
}

function isWord({ value }: { readonly value: string }): boolean {
  return value.length <= MAX_WORD_CHARS && !value.includes(' ');
}

/** Folds as much of a text as a line can show. JSON punctuation is dropped, because every mark costs a token. */
export function foldValue(text: string, maxChars: number): string {
  return foldMiddle(clipCharacters(text, maxChars * 2), maxChars);
}

function foldMiddle(text: string, maxChars: number): string {
  const part = clipMiddle(text, maxChars * 2);
  return foldLine(JSON_START.test(part) ? part.replace(JSON_MARKS, '').replaceAll(JSON_COMMA, ', ') : part);
}
