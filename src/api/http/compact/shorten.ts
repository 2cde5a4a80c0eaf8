import { readJsonText } from '../../../domain/json-text.ts';
import type { Message } from '../../../domain/message.ts';

/** Limit for the structural summarizer, which takes ten times as long for 900,000 characters. */
const MAX_CHARS = 80_000;
const HEAD_SHARE = 0.6;

/** Shortens the longest texts until all fit into `maxChars`. Each keeps its first and last lines. */
export function shortenMessages(messages: readonly Message[], maxChars = MAX_CHARS): Message[] {
  const limit = findLimit(
    messages.flatMap(({ content, toolCalls = [] }) => [
      content.length,
      ...toolCalls.map((call) => call.arguments.length),
    ]),
    maxChars,
  );
  return messages.map(({ toolCalls, ...message }) => ({
    ...message,
    content: cutMiddle(message.content, limit),
    ...(toolCalls && {
      toolCalls: toolCalls.map((call) => ({ ...call, arguments: shortenArguments(call.arguments, limit) })),
    }),
  }));
}

/** Returns the largest limit for each text with which all texts together have at most `most` characters. */
function findLimit(lengths: readonly number[], most: number): number {
  let left = most;
  const sorted = lengths.toSorted((a, b) => a - b);
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (length > share) return share;
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
}

/** Shortens the values inside, so that the arguments stay JSON, which the summarizer reads. */
function shortenArguments(written: string, limit: number): string {
  if (written.length <= limit) return written;
  const values = readObject(written);
  if (values === undefined) return cutMiddle(written, limit);
  const each = Math.floor(limit / Math.max(1, Object.keys(values).length));
  const short = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? cutMiddle(value, each) : value,
  ]);
  return JSON.stringify(Object.fromEntries(short));
}

function readObject(written: string): Record<string, unknown> | undefined {
  const value = readJsonText(written);
  return typeof value === 'object' && value !== null ? { ...value } : undefined;
}

/** Cuts at line ends. A line that is longer than the kept part is cut inside. */
function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const headChars = Math.floor(limit * HEAD_SHARE);
  const head = text.slice(0, headChars);
  const tail = text.slice(text.length - (limit - headChars));
  const headEnd = head.lastIndexOf('\n');
  const tailStart = tail.indexOf('\n');
  return `${headEnd > 0 ? head.slice(0, headEnd) : head}\n${tail.slice(tailStart + 1)}`;
}
