import { createHash } from 'node:crypto';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';

/** Default of `toolResultMaxTokens`: a larger result is clipped. */
export const TOOL_RESULT_MAX_TOKENS = 8_000;

export interface ClippedResult {
  readonly content: string;
  /** The whole text and its hash. Absent if nothing was cut, or if the text is not to be kept. */
  readonly whole?: { readonly hash: string; readonly text: string };
}

export interface ClipBounds {
  readonly maxTokens: number;
  /** True if the agent can read the whole text later. Otherwise the text is not kept. */
  readonly hasRecall: boolean;
}

/** UTF-16 units of a token that nearly no text exceeds. A text longer by this measure is clipped before it is counted. */
const UNITS_A_TOKEN = 8;

/** If head and tail leave out no more than this, the text is counted exactly: they may be the whole text. */
const NARROW_GAP_UNITS = 4_096;

/**
 * Cuts a tool's result down to `maxTokens` before it enters the log, because each later request would contain it. Head and
 * tail stay. The whole text is kept with its conversation if it is not larger than a message may be.
 *
 * The cost grows with `maxTokens`, not with the text: only the head and the tail of a long text are counted.
 */
export async function clipResult(
  counter: TokenCounter,
  text: string,
  { maxTokens, hasRecall }: ClipBounds,
): Promise<ClippedResult> {
  // A UTF-16 unit is at least a byte. Counting the bytes of a text of 64 MiB would take milliseconds.
  const isTooLong = text.length > MAX_MESSAGE_BYTES || Buffer.byteLength(text) > MAX_MESSAGE_BYTES;
  if (!isTooLong && (await fits(counter, text, maxTokens))) return { content: text };
  const isKept = hasRecall && !isTooLong;
  const hash = isKept ? createHash('sha256').update(text).digest('hex').slice(0, 32) : '';
  const rest = isKept ? `recall reads the whole by ref ${hash}` : 'the rest is not kept';
  const marker = `\n[clipped: ${text.length} characters; ${rest}]\n`;
  // This many tokens of any text fit into a message.
  const fitting = Math.floor(MAX_MESSAGE_BYTES / counter.longestTokenBytes);
  const limit = isTooLong ? Math.min(maxTokens, fitting) : maxTokens;
  const left = Math.max(0, limit - counter.countSync(marker));
  const [head, tail] = await clipEnds(counter, text, left);
  return { content: `${head}${marker}${tail}`, ...(isKept && { whole: { hash, text } }) };
}

async function fits(counter: TokenCounter, text: string, maxTokens: number): Promise<boolean> {
  // A token is at least a byte, so a short text fits without being counted.
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
