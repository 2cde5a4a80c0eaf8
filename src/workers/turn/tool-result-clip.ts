import { createHash } from 'node:crypto';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';

/** A result above this many tokens is clipped, unless its agent says otherwise. */
export const TOOL_RESULT_MAX_TOKENS = 8_000;

export interface ClippedResult {
  readonly content: string;
  /** the whole text and the hash under which it is to be kept; absent where nothing was cut, or the rest is not kept */
  readonly whole?: { readonly hash: string; readonly text: string };
}

export interface ClipBounds {
  readonly maxTokens: number;
  /** whether the agent can read the whole text: what nobody reads is not kept */
  readonly hasRecall: boolean;
}

/** Nearly all text has shorter tokens, in UTF-16 units. A longer text is clipped before it is counted. */
const UNITS_A_TOKEN = 8;

/** Head and tail that leave out no more than this are compared with an exact count: together they may be the whole text. */
const NARROW_GAP_UNITS = 4_096;

/**
 * Cuts a tool's result down to `maxTokens` before it enters the log, where it would be sent with every later request.
 * Head and tail are left: the one says what it is, the other how it ended. The whole is kept for as long as its conversation, and
 * therefore no more of it than a message may hold.
 *
 * The work grows with `maxTokens` and not with the text: of a long text only the head and the tail that may be kept are counted.
 */
export async function clipResult(
  counter: TokenCounter,
  text: string,
  { maxTokens, hasRecall }: ClipBounds,
): Promise<ClippedResult> {
  // A UTF-16 unit is at least a byte. The bytes of a text of 64 MiB are not counted: that alone takes milliseconds.
  const isTooLong = text.length > MAX_MESSAGE_BYTES || Buffer.byteLength(text) > MAX_MESSAGE_BYTES;
  if (!isTooLong && (await fits(counter, text, maxTokens))) return { content: text };
  const isKept = hasRecall && !isTooLong;
  const hash = isKept ? createHash('sha256').update(text).digest('hex').slice(0, 32) : '';
  const rest = isKept ? `recall reads the whole by ref ${hash}` : 'the rest is not kept';
  const marker = `\n[clipped: ${text.length} characters; ${rest}]\n`;
  // So many tokens fit into a message whatever they hold.
  const fitting = Math.floor(MAX_MESSAGE_BYTES / counter.longestTokenBytes);
  const limit = isTooLong ? Math.min(maxTokens, fitting) : maxTokens;
  const left = Math.max(0, limit - counter.countSync(marker));
  const [head, tail] = await clipEnds(counter, text, left);
  return { content: `${head}${marker}${tail}`, ...(isKept && { whole: { hash, text } }) };
}

async function fits(counter: TokenCounter, text: string, maxTokens: number): Promise<boolean> {
  // A token is at least a byte: a short text need not be counted here, and then again for its append.
  if (Buffer.byteLength(text) <= maxTokens) return true;
  if (text.length > maxTokens * UNITS_A_TOKEN) {
    const [head, tail] = await clipEnds(counter, text, maxTokens);
    if (head.length + tail.length + NARROW_GAP_UNITS < text.length) return false;
  }
  return (await counter.count(text)) <= maxTokens;
}

async function clipEnds(counter: TokenCounter, text: string, maxTokens: number): Promise<[head: string, tail: string]> {
  const head = await counter.clipStart(text, Math.ceil(maxTokens / 2));
  return [head, await counter.clipEnd(text, Math.floor(maxTokens / 2))];
}
