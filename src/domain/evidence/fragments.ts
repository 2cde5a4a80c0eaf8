import { readJsonText } from '../json-text.ts';
import type { Message, ToolCall } from '../message.ts';
import { classOf, SPACE } from './characters.ts';

/** Origin of a text: a user, the words of the agent, the arguments of its call, or the result of a tool. */
export const PARTS = ['user', 'statement', 'call', 'result'] as const;
export type Part = (typeof PARTS)[number];

/** A text of a message, which is read as one. */
export interface PartText {
  readonly part: Part;
  readonly text: string;
}

/** Splits a message into the texts of its parts. Each call is one text. Summaries count as statements. */
export function partsOf({ role, content, toolCalls = [] }: Message): PartText[] {
  const part: Part = role === 'user' || role === 'system' ? 'user' : role === 'tool' ? 'result' : 'statement';
  const calls = toolCalls.map((call): PartText => ({ part: 'call', text: describeCall(call) }));
  return content === '' ? calls : [{ part, text: content }, ...calls];
}

/** A longer call has a line for each value, so that the first line names its target alone. */
const MAX_CALL_LINE_CHARS = 120;

/** `name key: value, key: value`, with the values of nested objects under their own keys. */
export function describeCall({ name, arguments: text }: ToolCall): string {
  const values = describeValues(readJsonText(text) ?? text);
  const chars = values.reduce((sum, value) => sum + value.length + 2, name.length - 1);
  return `${name} ${values.join(chars <= MAX_CALL_LINE_CHARS ? ', ' : ',\n')}`;
}

/** An object or a list whose values are being read. */
interface OpenParent {
  /** Absent for a list, whose items have the key of the list. */
  readonly keys?: readonly string[];
  readonly values: readonly unknown[];
  readonly key: string;
  next: number;
}

/** The search uses no recursion, because arguments may be nested deeper than the call stack. */
function describeValues(root: unknown): string[] {
  const texts: string[] = [];
  const open: OpenParent[] = [{ values: [root], key: '', next: 0 }];
  for (let parent = open.at(-1); parent !== undefined; parent = open.at(-1)) {
    if (parent.next === parent.values.length) {
      open.pop();
      continue;
    }
    const value = parent.values[parent.next];
    const key = parent.keys?.[parent.next] ?? parent.key;
    parent.next += 1;
    if (typeof value === 'object' && value !== null) open.push(openParent(value, key));
    else if (isScalar(value)) texts.push(key === '' ? String(value) : `${key}: ${value}`);
  }
  return texts;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function openParent(parent: object, key: string): OpenParent {
  if (Array.isArray(parent)) return { values: parent, key, next: 0 };
  return { keys: Object.keys(parent), values: Object.values(parent), key, next: 0 };
}

/** Bounds of a piece of a long line, in characters. A fragment is chosen alone, so that a value can stay without its neighbours. */
interface PieceBounds {
  readonly min: number;
  readonly max: number;
}

/** Prose needs its sentence. */
const PROSE: PieceBounds = { min: 160, max: 240 };
/** A record is a list of keys with values. */
const RECORD: PieceBounds = { min: 20, max: 80 };
const COMMA = 44;
const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;

/** Start and end of each line, or of each piece of a long line. Empty lines are left out. */
export function* splitFragments(text: string): Generator<readonly [start: number, end: number]> {
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', start);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const { min, max } = isRecord(text, start, end) ? RECORD : PROSE;
    let from = start;
    while (end - from > max) {
      const to = findBreak(text, from + min, from + max);
      yield [from, to];
      from = to;
    }
    if (from < end) yield [from, end];
    start = end + 1;
  }
}

/** Checks whether a line is JSON, from its first character. */
function isRecord(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (classOf(unit) !== SPACE) return unit === OPEN_BRACE || unit === OPEN_BRACKET;
  }
  return false;
}

/** @returns the end of a piece: after the first comma, else after the first space, else `to`, never inside a surrogate pair */
function findBreak(text: string, from: number, to: number): number {
  let space = -1;
  for (let at = from; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA) return at + 1;
    if (space < 0 && classOf(unit) === SPACE) space = at + 1;
  }
  if (space >= 0) return space;
  return (text.codePointAt(to - 1) ?? 0) > 0xffff ? to - 1 : to;
}
