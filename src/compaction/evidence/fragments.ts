import type { Message, ToolCall } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';
import { type CallValue, listPatchedFiles, listValues, readArguments } from './call-values.ts';
import { classOf, SPACE } from './characters.ts';
import { findBreak } from './sentences.ts';

/** Kind of a message part: a user's text, the agent's words, the arguments of a call, or the result of a tool. */
export type PartKind = 'user' | 'statement' | 'call' | 'result';

export interface PartText {
  readonly part: PartKind;
  readonly text: string;
  readonly isMarked?: boolean;
}

const MARKED_LINE = /^[→←] /m;

export function partTexts({ role, content, toolCalls = [] }: Message): PartText[] {
  const part: PartKind = role === 'user' || role === 'system' ? 'user' : role === 'tool' ? 'result' : 'statement';
  const calls = toolCalls.map((call): PartText => ({ part: 'call', text: renderCall(call) }));
  if (content === '') return calls;
  return [
    role === 'summary' && MARKED_LINE.test(content) ? { part, text: content, isMarked: true } : { part, text: content },
    ...calls,
  ];
}

/** A call with more characters gets a line for each value, so that its first line names only the target of the call. */
const MAX_CALL_LINE_CHARS = 120;
/** Objects and lists with more characters stay JSON, so that each value stays with the other values of its object. */
const MAX_FLAT_CHARS = 80;
/** Names of arguments that say what a call does. The line of the call begins with such a value, even a long one. */
const SUBJECT_KEY = /^(?:command|cmd|argv|script|code|query|sql)$/i;

/** Writes a call as text. The first line has its command, the files of its patch, or its first short value. */
export function renderCall(call: ToolCall): string {
  const given = readArguments(call);
  const entries = isMapping(given) ? Object.entries(given) : [['', given] as const];
  const changes = listPatchedFiles(listValues(given));
  const said = entries
    .map(([key, value]) => ({ key, text: describeEntry(key, value) }))
    .filter(({ text }) => text !== '');
  const isFirst = ({ key, text }: CallValue): boolean => SUBJECT_KEY.test(key) || isShort(text);
  const ordered = [...said.filter(isFirst), ...said.filter((value) => !isFirst(value))].map(({ text }) => text);
  const texts = changes.length === 0 ? ordered : [`changes: ${changes.join(', ')}`, ...ordered];
  const chars = texts.reduce((sum, text) => sum + text.length + 2, call.name.length - 1);
  const isLine = chars <= MAX_CALL_LINE_CHARS && texts.every(isShort);
  return `${call.name} ${texts.join(isLine ? ', ' : ',\n')}`;
}

function isShort(text: string): boolean {
  return text.length <= MAX_CALL_LINE_CHARS && !text.includes('\n');
}

function describeEntry(key: string, value: unknown): string {
  const values = listValues({ [key]: value });
  const flat = values.map(({ key: own, text }) => (own === '' ? text : `${own}: ${text}`)).join(', ');
  const isFlat = values.length < 2 || flat.length <= MAX_FLAT_CHARS;
  return isFlat ? flat : `${key === '' ? '' : `${key}: `}${JSON.stringify(value)}`;
}

/** Sizes of a piece in characters. Pieces are small, so that a value can be kept without its neighbours. */
interface PieceBounds {
  readonly min: number;
  readonly max: number;
}

const PROSE: PieceBounds = { min: 160, max: 240 };
/** Bounds for a record, which is a list of keys with values. */
const RECORD: PieceBounds = { min: 20, max: 80 };
const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;

/** Splits a text into lines, and long lines into pieces. Empty lines are left out. */
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

function isRecord(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    if (classOf(unit) !== SPACE) return unit === OPEN_BRACE || unit === OPEN_BRACKET;
  }
  return false;
}
