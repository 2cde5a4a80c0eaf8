import type { LogEntry, Message, Weight } from '../domain/message.ts';
import { isMapping } from '../domain/parse.ts';
import { corruptRecord } from './corrupt-record.ts';
import { type Place, parseRecordJson } from './record-fields.ts';

/** `tokens bytes totalTokens totalBytes at turn` */
const HEADER = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\S+)$/;

/**
 * An entry as it lies in `log:`: `tokens bytes totalTokens totalBytes at turn` in a first line, the message's JSON behind
 * it. The totals are known only inside the script, and a script never re-encodes JSON, so it writes a line before it.
 * @param key of the log, for an error to name
 * @throws corrupt_record
 */
export function decodeLogEntry(seq: number, text: string, key: string): LogEntry {
  const place = { key, field: String(seq) };
  const end = text.indexOf('\n');
  const [, tokens, bytes, totalTokens, totalBytes, at, turn] = HEADER.exec(text.slice(0, Math.max(end, 0))) ?? [];
  if (turn === undefined) throw corruptRecord(key, place.field, 'it is not an entry of a log');
  return {
    seq,
    message: decodeMessage(place, text.slice(end + 1)),
    tokens: Number(tokens),
    bytes: Number(bytes),
    total: { tokens: Number(totalTokens), bytes: Number(totalBytes) },
    at: Number(at),
    ...(turn !== '-' && { turn }),
  };
}

/** A message as it is kept. Looked at by hand: a schema takes ten times as long, and a log has many. @throws corrupt_record */
export function decodeMessage(place: Place, text: string): Message {
  const value = parseRecordJson(place, text);
  if (!isMessage(value)) throw corruptRecord(place.key, place.field, 'it is not a message');
  return value;
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool', 'summary']);

function isMessage(value: unknown): value is Message {
  if (!isMapping(value) || !ROLES.has(value.role) || typeof value.content !== 'string') return false;
  const { toolCalls, toolCallId, parts } = value;
  return (
    (toolCalls === undefined || (Array.isArray(toolCalls) && toolCalls.length > 0 && toolCalls.every(isToolCall))) &&
    (toolCallId === undefined || typeof toolCallId === 'string') &&
    (parts === undefined || Array.isArray(parts))
  );
}

function isToolCall(value: unknown): boolean {
  if (!isMapping(value)) return false;
  const { id, name, arguments: given, providerId } = value;
  const isNamed = typeof id === 'string' && typeof name === 'string' && typeof given === 'string';
  return isNamed && (providerId === undefined || typeof providerId === 'string');
}

/** An entry of another log as it lies there. */
export function encodeLogEntry({ message, tokens, bytes, total, at, turn = '-' }: LogEntry): string {
  return `${[tokens, bytes, total.tokens, total.bytes, at, turn].join(' ')}\n${JSON.stringify(message)}`;
}

/** Messages as arguments of a script: count, then per message tokens, bytes, whether it is a user message, and JSON. */
export function encodeMessages(messages: readonly (Weight & { readonly message: Message })[]): (string | number)[] {
  const args: (string | number)[] = [messages.length];
  for (const { tokens, bytes, message } of messages) {
    args.push(tokens, bytes, message.role === 'user' ? 1 : 0, JSON.stringify(message));
  }
  return args;
}
