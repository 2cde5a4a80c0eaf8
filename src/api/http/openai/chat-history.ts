import { hash } from 'node:crypto';
import { readJsonText } from '../../../domain/json-text.ts';
import type { LogEntry, Message } from '../../../domain/message.ts';
import { readParts } from '../../../domain/parts.ts';
import { type PlacedItem, readPlacedMessages } from '../responses/create-request.ts';
import { readCallId } from '../responses/response-names.ts';

/** A message in a common form, so that the chat of a client can be compared with the log of a conversation. */
export interface ComparedMessage {
  readonly kind: 'system' | 'user' | 'assistant' | 'call' | 'result';
  readonly text: string;
  /** Hash of images and files, or id of the call. */
  readonly mark: string;
  /** Positions of the first and last log entry, or of the first and last item of the client, that it stands for. */
  readonly from: number;
  readonly to: number;
}

export function isSameMessage(a: ComparedMessage, b: ComparedMessage): boolean {
  return a.kind === b.kind && a.text === b.text && a.mark === b.mark;
}

export function hashMessages(messages: readonly ComparedMessage[], scope: string): string {
  const compared = messages.map(({ kind, text, mark }) => [kind, text, mark]);
  return hash('sha256', JSON.stringify([scope, compared])).slice(0, 32);
}

export function compareItems(items: readonly PlacedItem[]): ComparedMessage[] {
  const places = new Map(items.map(({ at }, index) => [at, index]));
  const read = readPlacedMessages(items);
  return joinAdjacent(read.flatMap(({ message, at }) => describe(message, places.get(at) ?? 0, () => true)));
}

/** With all calls, also those that a worker ran. */
export function compareEntries(log: readonly LogEntry[]): ComparedMessage[] {
  return joinAdjacent(log.flatMap(({ message, seq }) => describe(message, seq, () => true)));
}

/**
 * Leaves out calls that a worker ran, which no client of Chat Completions sees.
 * @param chat the chat of the client, which names the calls that the client ran
 */
export function compareLog(log: readonly LogEntry[], chat: readonly ComparedMessage[]): ComparedMessage[] {
  const known = new Set(chat.flatMap(({ kind, mark }) => (kind === 'call' || kind === 'result' ? [mark] : [])));
  return joinAdjacent(log.flatMap(({ message, seq }) => describe(message, seq, (call) => known.has(call))));
}

function describe(message: Message, at: number, isShown: (call: string) => boolean): ComparedMessage[] {
  const { role, content, toolCalls = [], toolCallId = '' } = message;
  const place = { from: at, to: at };
  if (role === 'tool') {
    const mark = readCallId(toolCallId).id;
    const shown = isShown(mark) ? ({ kind: 'result', text: content.trim(), mark } as const) : NOTHING;
    return [{ ...shown, ...place }];
  }
  const kind = role === 'summary' ? 'user' : role;
  const calls = toolCalls.flatMap(({ id, name, arguments: written }): ComparedMessage[] => {
    const mark = readCallId(id).id;
    const text = `${name} ${JSON.stringify(readJsonText(written) ?? written)}`;
    return isShown(mark) ? [{ kind: 'call', text, mark, ...place }] : [];
  });
  const said = { kind, text: readText(message, kind), mark: markParts(message), ...place };
  // Without a text, only the calls are a message for the client.
  return said.text === '' && calls.length > 0 ? calls : [said, ...calls];
}

/** A result of the worker counts as a part of the answer, which the client sees as one message. */
const NOTHING = { kind: 'assistant', text: '', mark: '' } as const;

/** The steps of an answer are one text for a client, with space between them. */
function readText({ content }: Message, kind: ComparedMessage['kind']): string {
  return kind === 'assistant' ? content.replaceAll(/\s+/g, ' ').trim() : content.trim();
}

function markParts(message: Message): string {
  const media = readParts(message).filter(({ kind }) => kind !== 'text');
  return media.length === 0 ? '' : hash('sha256', JSON.stringify(media));
}

function joinAdjacent(messages: readonly ComparedMessage[]): ComparedMessage[] {
  const joined: ComparedMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last === undefined || last.kind !== message.kind || !JOINS.has(message.kind)) joined.push(message);
    else joined.splice(-1, 1, join(last, message));
  }
  // An answer without text, such as a step that only calls tools of the worker, has no message of its own.
  return joined.filter(({ kind, text }) => kind !== 'assistant' || text !== '');
}

const JOINS: ReadonlySet<ComparedMessage['kind']> = new Set(['user', 'assistant']);

function join(a: ComparedMessage, b: ComparedMessage): ComparedMessage {
  const texts = [a.text, b.text].filter((text) => text !== '');
  return { ...b, from: a.from, text: texts.join(a.kind === 'assistant' ? ' ' : '\n\n'), mark: a.mark + b.mark };
}
