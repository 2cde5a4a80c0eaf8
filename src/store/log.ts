import type { Acknowledged } from '../domain/durability.ts';
import type { OpenCall } from '../domain/history.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { LogEntry, Message, WeighedMessage, Weight } from '../domain/message.ts';
import { isMapping } from '../domain/parse.ts';
import { type CreatedAbout, createdArgs } from './about.ts';
import { encodeOpenCall, type Forking, readForking } from './conversation-record.ts';
import { SCHEMAS } from './keys.ts';
import type { PassRequest } from './passes.ts';
import { corruptRecord, type Place, parseRecordJson } from './records.ts';
import { decodeReply, OPERATION_MS, type OtherPayload, type ScriptDefinition } from './script.ts';

export type AppendResult =
  | {
      readonly status: 'appended' | 'known';
      readonly from: number;
      readonly to: number;
    }
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'other_owner' }
  | { readonly status: 'busy' }
  | Forking
  | OtherPayload
  | { readonly status: 'conflict'; readonly head: number };

export interface AppendRequest extends CreatedAbout {
  readonly conversation: ConversationRef;
  /** Name of the operation, see `nameOperation`. A repeated name writes nothing and gets the first answer (I5). */
  readonly operation: string;
  readonly agent: string;
  /** Last log entry that the caller knew when the caller chose the ids of new tool calls. */
  readonly expectedHead: number;
  readonly messages: readonly WeighedMessage[];
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
  /**
   * Pass that the append creates if the messages are the first of the log and no pass is open. Only a pass knows the
   * policy, and so the idle TTL. Without a pass, a conversation whose caller died after the append would never be
   * erased.
   */
  readonly firstPass?: Pick<PassRequest, 'passId' | 'wake'> | undefined;
}

export const appendScript: ScriptDefinition<[request: AppendRequest], Acknowledged<AppendResult>> = {
  file: 'append-log',
  args: ([{ operation, agent, expectedHead, opens, closes, messages, firstPass, ...about }]) => ({
    operation,
    agent,
    schema: SCHEMAS.current,
    expected: expectedHead,
    operationMs: OPERATION_MS,
    passId: firstPass?.passId,
    passWake: firstPass?.wake,
    ...createdArgs(about),
    rest: [opens.length, ...opens.map(encodeOpenCall), closes.length, ...closes, ...encodeMessages(messages)],
  }),
  decode: (reply) =>
    decodeReply<AppendResult>(reply, {
      appended: (from: number, to: number) => ({ from, to }),
      known: (from: number, to: number) => ({ from, to }),
      other_agent: (agent: string) => ({ agent }),
      forking: readForking,
      conflict: (head: number) => ({ head }),
    }),
};

const HEADER = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\d{1,15}) (\S+)$/;

/**
 * Decodes a log entry. An entry is a line `tokens bytes totalTokens totalBytes at turn`, then the message as JSON. Only
 * the script knows the totals, and Lua must not re-encode JSON, so the totals have a line of their own.
 * @throws corrupt_record if the entry does not have this form
 */
export function decodeLogEntry(seq: number, text: string, key: string): LogEntry {
  const place = { key, field: String(seq) };
  const end = text.indexOf('\n');
  const [, tokens, bytes, totalTokens, totalBytes, at, turn] = HEADER.exec(text.slice(0, Math.max(end, 0))) ?? [];
  if (turn === undefined) throw corruptRecord(key, place.field, 'the entry of the log is malformed');
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

/**
 * Fields are checked by hand, because a schema takes ten times as long, and a log has many messages.
 * @throws corrupt_record if the text is not JSON or not a message
 */
export function decodeMessage(place: Place, text: string): Message {
  const value = parseRecordJson(place, text);
  if (!isMessage(value)) throw corruptRecord(place.key, place.field, 'the value is not a valid message');
  return value;
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool', 'summary']);

function isMessage(value: unknown): value is Message {
  if (!isMapping(value) || !ROLES.has(value.role) || typeof value.content !== 'string') return false;
  const { toolCalls, toolCallId, parts, reasoning } = value;
  return (
    (reasoning === undefined || typeof reasoning === 'string') &&
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

export function encodeLogEntry({ message, tokens, bytes, total, at, turn = '-' }: LogEntry): string {
  return `${[tokens, bytes, total.tokens, total.bytes, at, turn].join(' ')}\n${JSON.stringify(message)}`;
}

/**
 * Arguments for scripts that append messages: first their number. Four values for each message follow: its tokens, its
 * bytes, 1 for a user message or 0, and its JSON.
 */
export function encodeMessages(messages: readonly (Weight & { readonly message: Message })[]): (string | number)[] {
  const args: (string | number)[] = [messages.length];
  for (const { tokens, bytes, message } of messages) {
    args.push(tokens, bytes, message.role === 'user' ? 1 : 0, JSON.stringify(message));
  }
  return args;
}
