import { ChatError } from '../chat-error.ts';
import type { OpenChatTurn, TransportMessage } from '../transport-types.ts';
import { findQuestionId, readText } from './shown-messages.ts';

/** A message that the page has sent. It stays here until the chat shows it elsewhere, or the server has refused it. */
export interface Outgoing<Message> {
  readonly message: Message;
  readonly onBusy: 'enqueue' | 'steer';
  readonly state: 'sending' | 'accepted' | 'refused' | 'unsure';
  readonly turn?: string;
  readonly error?: Error;
  /** Message that waited, in whose place this one is sent. */
  readonly replaces?: string;
  /** It replaces a message of the chat, under the same id. */
  readonly isEdit?: boolean;
  /** Files that are not yet part of the message. */
  readonly files?: readonly NamedFile[];
  /** The server has listed its turn. From then on, the lists say what becomes of the message. */
  readonly isListed?: boolean;
}

export type NamedFile = Blob & { readonly name?: string };

export type Outbox<Message> = readonly Outgoing<Message>[];

/** Adds a message, or replaces its entry. */
export function putOutgoing<Message extends TransportMessage>(
  outbox: Outbox<Message>,
  entry: Outgoing<Message>,
): Outbox<Message> {
  const at = outbox.findIndex(({ message }) => message.id === entry.message.id);
  return at === -1 ? [...outbox, entry] : outbox.with(at, entry);
}

/** Leaves out what the chat shows: as a message, as an open turn, or inside the answer that it has joined. */
export function listHidden<Message extends TransportMessage>(
  outbox: Outbox<Message>,
  messages: readonly Message[],
  turns: readonly OpenChatTurn[],
): Outbox<Message> {
  if (outbox.length === 0) return outbox;
  const shown = new Set([...messages.map(({ id }) => id), ...turns.map(({ messageId }) => messageId)]);
  for (const { parts } of messages) {
    for (const part of parts) {
      const joined =
        part.type === 'data-steering' && (part as { readonly data?: { readonly turn?: string } }).data?.turn;
      if (typeof joined === 'string') shown.add(findQuestionId(joined, turns));
    }
  }
  return outbox.filter(({ message, state, isListed, isEdit }) => {
    if (isEdit === true && state === 'unsure') return !messages.some((one) => isSameText(one, message));
    return state === 'refused' || (isListed !== true && !shown.has(message.id));
  });
}

function isSameText(one: TransportMessage, other: TransportMessage): boolean {
  return one.id === other.id && readText(one) === readText(other);
}

/** State of a message whose request has failed. */
export function describeRefusal(error: unknown): 'unsure' | 'refused' {
  return error instanceof ChatError && error.mayBeDone ? 'unsure' : 'refused';
}

/** Notes which messages a list of the server has. */
export function noteListed<Message extends TransportMessage>(
  outbox: Outbox<Message>,
  turns: readonly OpenChatTurn[],
): Outbox<Message> {
  if (outbox.length === 0) return outbox;
  const listed = new Set(turns.map(({ messageId }) => messageId));
  return outbox.map((entry) => (listed.has(entry.message.id) ? { ...entry, isListed: true } : entry));
}

/** The messages of a load that began later have each accepted message, so the accepted ones leave. */
export function dropAccepted<Message>(outbox: Outbox<Message>, before: Outbox<Message>): Outbox<Message> {
  return outbox.filter((entry) => entry.state !== 'accepted' || !before.includes(entry));
}

const CHUNK = 32_768;

/** Reads files as parts of a message. @throws the browser's error, e.g. if a file has changed since it was chosen */
export async function readFileParts(files: readonly NamedFile[]) {
  return await Promise.all(
    files.map(async (file) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const mediaType = file.type === '' ? 'application/octet-stream' : file.type;
      const url = `data:${mediaType};base64,${writeBase64(bytes)}`;
      return { type: 'file', mediaType, ...(file.name !== undefined && { filename: file.name }), url };
    }),
  );
}

/** A call with all bytes of a large file as arguments would overflow the stack. */
function writeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

/** Names the files of a message that the page sends. */
export function listFileNames({ message: { parts }, files = [] }: Outgoing<TransportMessage>): string[] {
  const sent = parts.filter(({ type }) => type === 'file') as readonly { readonly filename?: string }[];
  return [...sent.map(({ filename = 'file' }) => filename), ...files.map(({ name = 'file' }) => name)];
}
