import type { Message, ToolCall } from '../message.ts';
import { classOf, SPACE } from './characters.ts';

/** Who says a fragment: a user, the agent in words, the agent in the arguments of a call, or a tool. */
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

/** `name key: value, key: value`, with the values of nested objects under their own keys. */
export function describeCall({ name, arguments: text }: ToolCall): string {
  const values: string[] = [];
  const visit = (value: unknown, key: string): void => {
    if (value === null || value === undefined) return;
    if (Array.isArray(value)) for (const item of value) visit(item, key);
    else if (typeof value === 'object') for (const [own, item] of Object.entries(value)) visit(item, own);
    else values.push(key === '' ? String(value) : `${key}: ${String(value)}`);
  };
  visit(parseArguments(text), '');
  return `${name} ${values.join(', ')}`;
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Longer lines are split, so that a fragment can be chosen alone. */
const MAX_LINE_CHARS = 240;
const MIN_PIECE_CHARS = 160;
const COMMA = 44;

/** Calls `visit` with the start and end of each line, or of each piece of a long line. */
export function splitFragments(text: string, visit: (start: number, end: number) => void): void {
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', start);
    const end = lineEnd === -1 ? text.length : lineEnd;
    let from = start;
    while (end - from > MAX_LINE_CHARS) {
      const to = findBreak(text, from + MIN_PIECE_CHARS, from + MAX_LINE_CHARS);
      visit(from, to);
      from = to;
    }
    if (from < end) visit(from, end);
    start = end + 1;
  }
}

/** @returns the end of a piece: after a space or a comma, or at `to`, never inside a surrogate pair */
function findBreak(text: string, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA || classOf(unit) === SPACE) return at + 1;
  }
  return (text.codePointAt(to - 1) ?? 0) > 0xffff ? to - 1 : to;
}
