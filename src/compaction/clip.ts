import { readJsonText } from '../domain/json-text.ts';
import type { Message, Weight } from '../domain/message.ts';
import { showTerminal } from './evidence/terminal-text.ts';
import { breakAfter, breakBefore } from './evidence/word-breaks.ts';
import { splitsPair } from './excerpt.ts';

/** Counts a message of at most some thousand tokens exactly. */
export type Weigh = (message: Message) => Weight;

/**
 * Keeps the first and last characters of each text. Arguments of calls stay valid JSON: only their long strings are
 * clipped. Parts other than text become a note. The result is deterministic, so that no version has to store the text
 * (I15).
 */
export function clipMessage(message: Message, keepChars: number, seq: number): Message {
  const { parts, raw: _raw, toolCalls, ...others } = message;
  const named =
    parts === undefined || parts.length === 0 ? '' : `\n[${parts.length} parts left out, message ${seq} of the log]`;
  const content = clipText(message.content, keepChars, seq) + named;
  if (toolCalls === undefined) return { ...others, content };
  return {
    ...others,
    content,
    toolCalls: toolCalls.map((call) => ({ ...call, arguments: clipArguments(call.arguments, keepChars, seq) })),
  };
}

function clipText(logged: string, keepChars: number, seq: number): string {
  const text = showTerminal(logged);
  if (text.length <= keepChars) return text;
  const head = cutStart(text, Math.ceil(keepChars / 2));
  const tail = cutEnd(text, Math.floor(keepChars / 2));
  const left = text.length - head.length - tail.length;
  return `${head}\n[… ${left} characters of message ${seq}]\n${tail}`;
}

/** Keeps whole words, unless half of the characters would be lost with the word at the cut. */
function cutStart(text: string, chars: number): string {
  const end = breakBefore(text, chars);
  if (end >= chars / 2) return text.slice(0, end);
  return text.slice(0, splitsPair(text, chars) ? chars - 1 : chars);
}

function cutEnd(text: string, chars: number): string {
  const at = text.length - chars;
  const start = breakAfter(text, at);
  if (text.length - start >= chars / 2) return text.slice(start);
  return text.slice(splitsPair(text, at) ? at + 1 : at);
}

/**
 * Matches a string. An unterminated string matches to the end, because otherwise the search would start again at each
 * quote inside it.
 */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*(?:"(\s*:)?|\\?$)/gs;

/** Does not parse the JSON, because parsing would change numbers such as an id of 20 digits. */
function clipArguments(text: string, keepChars: number, seq: number): string {
  if (text.length <= keepChars) return text;
  if (readJsonText(text) === undefined) return clipText(text, keepChars, seq);
  return text.replace(STRING, (literal: string, colon: string | undefined) => {
    const isShort = colon !== undefined || literal.length <= keepChars;
    return isShort ? literal : JSON.stringify(clipText(JSON.parse(literal) as string, keepChars, seq));
  });
}
