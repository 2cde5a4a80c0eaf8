import type { LogEntry } from '../../domain/message.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';

const OPEN = '<users>';
const CLOSE = '</users>';
/** turnfold's own tags inside a user's text. They are escaped, so that the text cannot end the list `<users>`. */
const OWN_TAG = /<(?=[\s/]*(?:users)\b)/gi;

/** Minimum tokens of a clipped user message. A shorter piece would be useless. */
const MIN_CLIPPED_TOKENS = 16;

/**
 * Copies the texts of the users in a range, so that no summarizer can lose or change them. The first text comes first,
 * because it usually states the topic. Then come the newest texts for which there are tokens left.
 * @returns '' if the range has no text of a user, undefined if there are too few tokens for any of them
 */
export async function copyUserTexts(
  counter: TokenCounter,
  entries: readonly LogEntry[],
  maxTokens: number,
): Promise<string | undefined> {
  const [first, ...others] = entries.filter(({ message }) => message.role === 'user' && message.content.trim() !== '');
  if (first === undefined) return '';
  const frame = [OPEN, ...(others.length === 0 ? [] : [describeLeft(others.length)]), CLOSE, ''];
  let left = maxTokens - counter.countSync(frame.join('\n'));
  const copied: string[] = [];
  for (const entry of [first, ...others.toReversed()]) {
    // A long pasted text gets at most half of the tokens, if that is enough for a clip. The rest is for the other
    // texts.
    const half = copied.length < others.length ? await copyText(counter, entry, Math.ceil(left / 2)) : undefined;
    const text = half ?? (await copyText(counter, entry, left));
    if (text === undefined) break;
    left -= (await counter.count(text)) + 1;
    copied.push(text);
  }
  const [opening, ...newest] = copied;
  if (opening === undefined) return undefined;
  const missing = others.length - newest.length;
  const lines = [opening, ...(missing === 0 ? [] : [describeLeft(missing)]), ...newest.toReversed()];
  return [OPEN, ...lines, CLOSE, ''].join('\n');
}

/** Returns a summary's text without the copied user texts before it. */
export function withoutUserTexts(text: string): string {
  const end = text.startsWith(OPEN) ? text.indexOf(CLOSE) : -1;
  return end === -1 ? text : text.slice(end + CLOSE.length).trimStart();
}

/**
 * Returns the whole text, or its start if there are too few tokens. Undefined if there are too few for a useful clip.
 */
async function copyText(
  counter: TokenCounter,
  { seq, message }: LogEntry,
  maxTokens: number,
): Promise<string | undefined> {
  const [open, close] = [`${seq}: `, ''];
  const room = maxTokens - counter.countSync(open + close) - 1;
  if (room < 1) return undefined;
  const text = message.content.replace(OWN_TAG, '&lt;');
  const kept = await counter.clipStart(text, room);
  if (kept.length === text.length) return open + text + close;
  return room < MIN_CLIPPED_TOKENS ? undefined : `${open}${kept} …${close}`;
}

function describeLeft(count: number): string {
  return `(${count} more, in the log)`;
}
