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

/**
 * Cuts a tool's result down to `maxTokens` before it enters the log, where it would be sent with every later request.
 * Head and tail are left: the one says what it is, the other how it ended. The whole is kept for as long as its conversation, and
 * therefore no more of it than a message may hold.
 */
export async function clipResult(
  counter: TokenCounter,
  text: string,
  { maxTokens, hasRecall }: ClipBounds,
): Promise<ClippedResult> {
  const bytes = Buffer.byteLength(text);
  // A token is at least a byte: a short text need not be counted here, and then again for its append.
  if (bytes <= Math.min(maxTokens, MAX_MESSAGE_BYTES)) return { content: text };
  const tokens = await counter.count(text);
  const isTooLong = bytes > MAX_MESSAGE_BYTES;
  if (tokens <= maxTokens && !isTooLong) return { content: text };
  const isKept = hasRecall && !isTooLong;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
  const rest = isKept ? `recall reads the whole by ref ${hash}` : 'the rest is not kept';
  const marker = `\n[clipped: ${tokens} tokens; ${rest}]\n`;
  // So many tokens fit into a message whatever they hold.
  const fitting = Math.floor(MAX_MESSAGE_BYTES / counter.longestTokenBytes);
  const limit = isTooLong ? Math.min(maxTokens, fitting) : maxTokens;
  const left = Math.max(0, limit - counter.countSync(marker));
  const head = await counter.clipStart(text, Math.ceil(left / 2));
  const tail = await counter.clipEnd(text, Math.floor(left / 2));
  return { content: `${head}${marker}${tail}`, ...(isKept && { whole: { hash, text } }) };
}
