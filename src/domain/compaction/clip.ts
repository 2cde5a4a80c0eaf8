import type { ContextItem } from '../context-item.ts';
import type { Message, Weight } from '../message.ts';
import type { Sliced } from '../sliced.ts';

/** Weighs a message of at most some thousand tokens, exactly. */
export type Weigh = (message: Message) => Weight;

/** What a clip keeps at most, in tokens: counted in one go, it must not hold the event loop. */
const MAX_CLIP_TOKENS = 4_000;
/** What is longer even clipped (a list of thousands of numbers) is not counted: that alone would take long. */
const MAX_CLIP_CHARS = 50_000;
/** Counting a text and cutting it again comes near enough in so many tries. */
const MAX_TRIES = 8;

/**
 * A message of which so many characters stay, half of them from its start and half from its end, with a reference between.
 * Cut on code points (X8); of calls, the long texts in their arguments are cut, which stay the same JSON otherwise (X7). The
 * same for the same message, so that no version has to keep the text. Other parts than text are named and left out.
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

/**
 * The item clipped to at most `maxTokens`, or as near to it as `minChars` of each of its texts allow; undefined where that is
 * no smaller.
 * Yields after each try: a count of 50,000 characters may take 15 ms.
 * @param minChars a clip that keeps less says nothing
 */
export function* clipItem(
  item: ContextItem,
  maxTokens: number,
  minChars: number,
  weigh: Weigh,
): Sliced<ContextItem | undefined> {
  const { from, to, logged = item.message } = item;
  const hasParts = item.message.parts !== undefined;
  if (longestText(item.message) <= minChars && !hasParts) return undefined;
  const target = Math.min(maxTokens, MAX_CLIP_TOKENS);
  let keepChars = Math.floor((longestText(item.message) * target) / Math.max(1, item.tokens));
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const isShortest = keepChars <= minChars || tries === MAX_TRIES;
    if (isShortest) keepChars = minChars;
    const message = clipMessage(logged, keepChars, from);
    if (countChars(message) > MAX_CLIP_CHARS) return undefined;
    const weight = weigh(message);
    yield;
    if (weight.tokens <= target || (isShortest && weight.tokens < item.tokens)) {
      return { from, to, ...weight, message, segment: { kind: 'clipped', from, to, weight, keepChars }, logged };
    }
    if (isShortest) return undefined;
    keepChars = Math.floor(Math.min(keepChars * 0.9, (keepChars * target) / weight.tokens));
  }
  return undefined;
}

function countChars({ content, toolCalls = [] }: Message): number {
  return toolCalls.reduce((sum, call) => sum + call.arguments.length, content.length);
}

function longestText({ content, toolCalls = [] }: Message): number {
  return Math.max(content.length, ...toolCalls.map((call) => call.arguments.length));
}

function clipText(text: string, keepChars: number, seq: number): string {
  if (text.length <= keepChars) return text;
  const head = cutStart(text, Math.ceil(keepChars / 2));
  const tail = cutEnd(text, Math.floor(keepChars / 2));
  const left = text.length - head.length - tail.length;
  return `${head}\n[${left} characters left out, message ${seq} of the log]\n${tail}`;
}

function cutStart(text: string, chars: number): string {
  return text.slice(0, isSplit(text, chars) ? chars - 1 : chars);
}

function cutEnd(text: string, chars: number): string {
  const at = text.length - chars;
  return text.slice(isSplit(text, at) ? at + 1 : at);
}

/** Whether a cut here would part the two halves of a character. */
function isSplit(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/**
 * A string of a JSON text, and the colon behind it where it is a key. A string without its end matches up to the end of the
 * text: if it did not match, the search would begin again at each quote inside it.
 */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*(?:"(\s*:)?|\\?$)/gs;

/**
 * What is no JSON is sent as a JSON string within an object (X7), and is cut as text. In the text itself, where numbers stay as
 * they are written: parsed, an id of 20 digits would become another.
 */
function clipArguments(text: string, keepChars: number, seq: number): string {
  if (text.length <= keepChars) return text;
  if (!isJson(text)) return clipText(text, keepChars, seq);
  return text.replace(STRING, (literal: string, colon: string | undefined) => {
    const isShort = colon !== undefined || literal.length <= keepChars;
    return isShort ? literal : JSON.stringify(clipText(JSON.parse(literal) as string, keepChars, seq));
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
