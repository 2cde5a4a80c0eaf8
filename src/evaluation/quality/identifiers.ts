import type { ToolCall } from '../../domain/message.ts';

/** `value`: a short whole argument, e.g. a name. `word`: a plain word. */
export type IdentifierKind =
  | 'url'
  | 'email'
  | 'path'
  | 'file'
  | 'date'
  | 'code'
  | 'hex'
  | 'name'
  | 'dotted'
  | 'number'
  | 'value'
  | 'word';

const FILE_EXTENSIONS =
  'py|pyi|ts|tsx|js|mjs|jsx|json|jsonl|md|rst|txt|go|rs|toml|yaml|yml|cfg|ini|sh|html|css|c|h|cpp|java|sql|service|conf|lock|log|csv|xml';

/**
 * Patterns of identifiers. The first matching pattern gives the kind, and its group gives the identifier. A lookbehind
 * lets a match start only at the start of a run, so that the time is linear in the text.
 */
const PATTERNS: readonly (readonly [IdentifierKind, RegExp])[] = [
  ['url', /https?:\/\/[^\s"'<>()[\]{}`|\\,;]+/g],
  ['email', /(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/g],
  ['path', /(?:~|(?<![\w.@+-]))\/?[\w.@+-]+(?:\/[\w.@+-]+)+/g],
  ['file', new RegExp(String.raw`(?<![\w-])-*(\w[\w-]*\.(?:${FILE_EXTENSIONS})\b)`, 'g')],
  ['date', /\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?)?\b/g],
  ['code', /#[A-Z]?\d{3,}\b|\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,}\b|\b[A-Z]{6}\b/g],
  ['hex', /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,27}\b/g],
  [
    'name',
    /\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b_{1,2}[a-z]\w{3,}\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b|\b[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+\b/g,
  ],
  ['dotted', /\b[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+\b/g],
  [
    'number',
    /(?<![\w.])\$?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\.*\w)|(?<![\w.])\d+\.\d{2,}(?![\w])|(?<![\w.])\d{3,}(?![\w])/g,
  ],
];
const MIN_CHARS = 3;
const MAX_CHARS = 120;
const TRAILING_MARKS = '.,;:!?';

export function findIdentifiers(text: string): Map<string, IdentifierKind> {
  const found = new Map<string, IdentifierKind>();
  for (const [kind, pattern] of PATTERNS) {
    for (const [match, group = match] of text.matchAll(pattern)) {
      const identifier = withoutTrailingMarks(group);
      const isSized = identifier.length >= MIN_CHARS && identifier.length <= MAX_CHARS;
      if (isSized && !found.has(identifier)) found.set(identifier, kind);
    }
  }
  return found;
}

function withoutTrailingMarks(text: string): string {
  let end = text.length;
  while (end > 0 && TRAILING_MARKS.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Keys of arguments with prose or code, whose whole value is never an identifier. */
const PROSE_KEYS: ReadonlySet<string> = new Set(
  (
    'command cmd content body description text message thought prompt old_string new_string oldText newText search _raw code ' +
    'summary old_str new_str file_text query todos status activeForm'
  ).split(' '),
);
const MAX_VALUE_CHARS = 60;
const MAX_VALUE_WORDS = 4;
const CONSTANT = /^(?:true|false|null|none|yes|no|\d{1,2})$/i;

/** Finds the identifiers of a call. A short whole value is an identifier, too, e.g. `Sofia Silva`. */
export function findCallIdentifiers(call: ToolCall): Map<string, IdentifierKind> {
  const found = new Map<string, IdentifierKind>();
  for (const { key, value } of readLeaves(call)) {
    for (const [identifier, kind] of findIdentifiers(value)) if (!found.has(identifier)) found.set(identifier, kind);
    if (!PROSE_KEYS.has(key) && isShortValue(value) && !found.has(value)) found.set(value, 'value');
  }
  return found;
}

function isShortValue(value: string): boolean {
  const isSized = value.length >= MIN_CHARS && value.length <= MAX_VALUE_CHARS;
  return isSized && value.split(/\s+/).length <= MAX_VALUE_WORDS && !CONSTANT.test(value);
}

/** A text, number or boolean. A value in a list has the key of the list. */
interface Leaf {
  readonly key: string;
  readonly value: string;
}

/** Reads the values of a call. Arguments that are not JSON are one leaf with the key `_raw`. */
export function readLeaves({ arguments: text }: ToolCall): Leaf[] {
  const leaves: Leaf[] = [];
  const visit = (value: unknown, key: string): void => {
    if (value === null || value === undefined) return;
    if (Array.isArray(value)) for (const item of value) visit(item, key);
    else if (typeof value === 'object') for (const [name, item] of Object.entries(value)) visit(item, name);
    else leaves.push({ key, value: typeof value === 'string' ? value : JSON.stringify(value) });
  };
  visit(parseArguments(text), '');
  return leaves;
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { _raw: text };
  }
}

/** Matches each word, and each name that marks make of words. */
export const WORD_OR_NAME = /[\w.@/#$-]+/g;
const NAME_MARK = /[\d_/@.#$-]/;
const PLAIN_WORD = /(?<![A-Za-z])[a-z]{5,}(?![A-Za-z])/g;

export function hideIdentifiers(text: string): string {
  return text.replace(WORD_OR_NAME, (run) => (NAME_MARK.test(run) ? ' ' : run));
}

/** Finds words in lower case with five letters or more that are no part of an identifier. */
export function findPlainWords(text: string): Set<string> {
  return new Set(hideIdentifiers(text).match(PLAIN_WORD) ?? []);
}
