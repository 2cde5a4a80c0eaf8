import type { LogEntry } from '../../domain/message.ts';
import type { TokenCounter } from '../../domain/ports/token-counter.ts';

const OPEN = '<user_messages>';
const CLOSE = '</user_messages>';
/** Tags of ours in a text are shown broken: it can neither end its message nor the list. */
const OWN_TAG = /<(?=[\s/]*(?:user_messages|message)\b)/gi;

/** Less of a long text says nothing; a short one is whole with less. */
const MIN_CLIPPED_TOKENS = 16;

/**
 * What the users said in a range, in their own words: the first of them, which says what all this is about, then the newest
 * that fit. No summarizer can lose or change them. '' where nobody said anything; undefined where somebody did and none of it
 * fits: a summary alone would have dropped it.
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
    // One long text, pasted by its user, leaves room for the others: where half is enough to say something.
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

/** What a summarizer wrote, of a text that begins with users' texts. */
export function withoutUserTexts(text: string): string {
  const end = text.startsWith(OPEN) ? text.indexOf(CLOSE) : -1;
  return end === -1 ? text : text.slice(end + CLOSE.length).trimStart();
}

/** Whole, or of a long one the start; undefined where not even that is worth its tag. */
async function copyText(
  counter: TokenCounter,
  { seq, message }: LogEntry,
  maxTokens: number,
): Promise<string | undefined> {
  const [open, close] = [`<message seq="${seq}">\n`, '\n</message>'];
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
