import { briefCall, clipAtWord } from '../../compaction/evidence/call-line.ts';
import { seqOfCallId } from '../../domain/ids.ts';
import type { LogEntry, Message, ToolCall } from '../../domain/message.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { type LogPlace, readEntries } from './log-batches.ts';

/** Tokens of a recall answer if the model gives no `limit`. The limit for tool results may allow fewer. */
export const ANSWER_TOKENS = 1_000;

/** Tokens reserved for the last line of an answer. */
const LAST_LINE_TOKENS = 40;
const MAX_CALL_CHARS = 80;

/** Tokens by which a part is made smaller still, because each attempt counts the whole answer. */
const SPARE_TOKENS = 8;

/** Composes a part of an answer that has about `room` tokens. */
export type Compose = (room: number) => Promise<string>;

/**
 * Composes an answer of at most `maxTokens`. The whole answer may have more tokens than its parts. In that case the parts
 * are composed again with fewer tokens.
 */
export async function composeWithin(counter: TokenCounter, maxTokens: number, compose: Compose): Promise<string> {
  for (let room = maxTokens - LAST_LINE_TOKENS; ; ) {
    const answer = await compose(room);
    const excess = (await counter.count(answer)) - maxTokens;
    if (excess <= 0 || room <= 0) return answer;
    room -= excess + SPARE_TOKENS;
  }
}

/**
 * Puts a text of the log under its title, between two lines of backticks. The text has no run of as many backticks. So it
 * cannot end the frame, and no line of it can be read as the title of another message.
 */
export function frameText(title: string, text: string): string {
  if (text === '') return `${title} no text`;
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${title}\n${fence}\n${text}\n${fence}`;
}

/** Names a message in one line: its number, its author, and the call that it answers. */
export function titleOf({ seq, message }: LogEntry, calls: ReadonlyMap<string, ToolCall>, part = ''): string {
  return `message ${seq} (${nameAuthor(message, calls)})${part}:`;
}

function nameAuthor(
  { role, toolCallId = '', isError, stopped }: Message,
  calls: ReadonlyMap<string, ToolCall>,
): string {
  if (role !== 'tool') return stopped === true ? `${role}, stopped` : role;
  const call = calls.get(toolCallId);
  const result = isError === true ? 'failed tool result' : 'tool result';
  return call === undefined ? result : `${result} of ${clipAtWord(briefCall(call, MAX_CALL_CHARS), MAX_CALL_CHARS)}`;
}

/**
 * Reads the calls that tool results answer. The id of a call names the message that made it.
 * @param entries messages, the calls of which are known already
 */
export async function readCalls(
  place: LogPlace,
  entries: readonly LogEntry[],
  how: Parameters<typeof readEntries>[2],
): Promise<ReadonlyMap<string, ToolCall>> {
  const calls = new Map<string, ToolCall>();
  const addAll = (read: readonly LogEntry[]): void => {
    for (const { message } of read) for (const call of message.toolCalls ?? []) calls.set(call.id, call);
  };
  addAll(entries);
  const missing = new Set<number>();
  for (const { seq, message } of entries) {
    const { toolCallId } = message;
    if (toolCallId === undefined || calls.has(toolCallId)) continue;
    const from = seqOfCallId(toolCallId);
    if (Number.isSafeInteger(from) && from >= 1 && from < seq) missing.add(from);
  }
  for await (const read of readEntries(place, [...missing], how)) addAll(read);
  return calls;
}
