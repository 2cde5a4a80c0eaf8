import { createHash } from 'node:crypto';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';

/** A result above this many tokens is clipped, unless its agent says otherwise. */
export const TOOL_RESULT_MAX_TOKENS = 8_000;

export interface ClippedResult {
  readonly content: string;
  /** the whole text and the hash under which it is kept; absent where nothing was cut */
  readonly whole?: { readonly hash: string; readonly text: string };
}

/**
 * Cuts a tool's result down to `maxTokens` before it enters the log, where it would be sent with every later request.
 * Head and tail are kept: the one says what it is, the other how it ended.
 */
export async function clipResult(counter: TokenCounter, text: string, maxTokens: number): Promise<ClippedResult> {
  const bytes = Buffer.byteLength(text);
  // A token is at least a byte: a short text need not be counted here, and then again for its append.
  if (bytes <= Math.min(maxTokens, MAX_MESSAGE_BYTES)) return { content: text };
  const tokens = await counter.count(text);
  const isTooLong = bytes > MAX_MESSAGE_BYTES;
  if (tokens <= maxTokens && !isTooLong) return { content: text };
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
  const marker = `\n[clipped: ${tokens} tokens; whole text: ref ${hash}]\n`;
  // So many tokens fit into a message whatever they hold.
  const fitting = Math.floor(MAX_MESSAGE_BYTES / counter.longestTokenBytes);
  const limit = isTooLong ? Math.min(maxTokens, fitting) : maxTokens;
  const left = Math.max(0, limit - counter.countSync(marker));
  const head = await counter.clipStart(text, Math.ceil(left / 2));
  const tail = await counter.clipEnd(text, Math.floor(left / 2));
  return { content: `${head}${marker}${tail}`, whole: { hash, text } };
}
