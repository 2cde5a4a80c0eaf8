import { fieldError } from '../../domain/errors.ts';
import { runToEnd } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { isMapping } from '../../domain/parse.ts';
import { parseSummary } from '../../domain/summary.ts';
import { type HistoryNote, HistoryNotes } from '../../wire/histories/notes.ts';
import { repairCallsInSlices } from '../../wire/histories/repair-calls.ts';
import { readCopiedTexts, withoutUserTexts } from '../../workers/summarization/user-texts.ts';
import { aiSdkKind, anthropicKind, openaiChatKind, turnfoldKind } from './kinds/chat.ts';
import { agentsKind, responsesKind } from './kinds/items.ts';
import type { MessageFormat, MessageKind } from './kinds/kind.ts';
import { langchainKind } from './kinds/langchain.ts';
import { uiKind } from './kinds/parts.ts';

/** Formats of messages. The first kind that recognizes a list reads it, so kinds with marks of their own come first. */
const KINDS: readonly MessageKind[] = [
  agentsKind,
  responsesKind,
  langchainKind,
  turnfoldKind,
  uiKind,
  aiSdkKind,
  anthropicKind,
  openaiChatKind,
];

/** @throws invalid_input for messages in no known format */
export function findKind(messages: readonly unknown[], format: MessageFormat | undefined): MessageKind {
  const blocks = messages.filter(isMapping);
  const found = KINDS.find(({ name, recognizes }) => (format === undefined ? recognizes(blocks) : name === format));
  if (found !== undefined) return found;
  if (messages.length === 0) return openaiChatKind;
  const names = KINDS.map(({ name }) => name).join(', ');
  throw fieldError('invalid_input', 'messages', `in no known format. Known formats: ${names}`);
}

/** A given message, or a part of a message that can be kept alone. */
export interface GivenPart {
  readonly value: unknown;
  readonly index: number;
  /** Index of the part among the parts of its message, and the number of these parts. */
  readonly place: number;
  readonly places: number;
}

/** Given parts that together became log messages. A part without content for a model belongs to the part before it. */
export interface Unit {
  readonly parts: readonly GivenPart[];
  readonly count: number;
}

/** Place of a result that was added to close a call. */
export const CLOSING = -1;

/** A message of the log, with the given parts that it was read from. */
export interface ReadEntry {
  readonly message: Message;
  readonly unit: Unit;
  /** Index among the messages of its unit, or `CLOSING`. */
  readonly place: number;
  /** True if the message differs from the given one. */
  readonly isRepaired: boolean;
}

interface ReadGiven {
  readonly entries: readonly ReadEntry[];
  readonly notes: readonly HistoryNote[];
}

/** Reads messages as a log that remembers the given messages. @throws invalid_input with the path */
export function readGiven(messages: readonly unknown[], kind: MessageKind): ReadGiven {
  const notes = new PlacedNotes();
  const parts = messages.flatMap((message, index) =>
    (kind.split?.(message) ?? [message]).map((value, place, { length }): GivenPart => {
      return { value, index, place, places: length };
    }),
  );
  const places = parts.map(({ index, place }) => `messages[${index}]${place === 0 ? '' : `#${place}`}`);
  const read = kind.read(
    parts.map(({ value }) => value),
    places,
    notes,
  );
  const recognised = read.messages.map(recogniseSummary);
  const found = recognised.flat();
  const foundAt = recognised.flatMap((own, index) => own.map(() => read.places[index] ?? 'messages'));
  const { units, placeOf } = findUnits(parts, places, foundAt);
  const repaired = runToEnd(repairCallsInSlices(found, { notes, placeOf: (index) => foundAt[index] ?? 'messages' }));
  const entries = repaired.map(({ message, index }): ReadEntry => {
    const unit = units[index] as Unit;
    const original = found[index] as Message;
    // A result that closes a call has the index of the call's message.
    const isClosing = original.role !== message.role;
    const isRepaired = isClosing || !isSame(message, original) || notes.isRepaired(unit);
    return { message, unit, place: isClosing ? CLOSING : (placeOf[index] ?? 0), isRepaired };
  });
  return { entries, notes: notes.list };
}

/** True if a repair did not change the message. Fields are compared, because repairs give each result a new object. */
function isSame(one: Message, other: Message): boolean {
  return one === other || (one.toolCallId === other.toolCallId && one.toolCalls === other.toolCalls);
}

/** First line of a summary that a call shortened. */
const SHORTENED = /^\[excerpt of message \d+\]\n/;

/** Reads a summary that an earlier call returned as a summary, and user messages that it copied as user messages. */
function recogniseSummary(message: Message): Message[] {
  const { role, content, parts } = message;
  const read = role === 'user' && parts === undefined ? parseSummary(content) : undefined;
  const text = read?.text ?? (role === 'summary' ? content : undefined);
  if (text === undefined) return [message];
  const users = readCopiedTexts(text).map((copied): Message => ({ role: 'user', content: copied }));
  const summary: Message = {
    role: 'summary',
    content: withoutUserTexts(text).replace(SHORTENED, ''),
    summary: read?.label ?? message.summary,
  };
  return [...users, summary];
}

interface FoundUnits {
  readonly units: readonly Unit[];
  readonly placeOf: readonly number[];
}

function findUnits(parts: readonly GivenPart[], places: readonly string[], read: readonly string[]): FoundUnits {
  const partAt = new Map(places.map((place, index) => [place, index]));
  const starts = [...new Set(read.map((place) => partAt.get(place) ?? 0))];
  const made = new Map(
    starts.map((start, nth) => {
      const own = parts.slice(nth === 0 ? 0 : start, starts[nth + 1] ?? parts.length);
      return [start, { parts: own, count: read.filter((place) => (partAt.get(place) ?? 0) === start).length }];
    }),
  );
  const counts = new Map<number, number>();
  const placeOf = read.map((place) => {
    const start = partAt.get(place) ?? 0;
    const count = counts.get(start) ?? 0;
    counts.set(start, count + 1);
    return count;
  });
  return { units: read.map((place) => made.get(partAt.get(place) ?? 0) as Unit), placeOf };
}

/** Remembers which given messages had to be repaired. */
class PlacedNotes extends HistoryNotes {
  readonly #repaired = new Set<string>();

  override add(kind: HistoryNote['kind'], at: string, what: string, count = 1): void {
    super.add(kind, at, what, count);
    // A note about a whole call or result does not change the message that the note names.
    const [, place] = /^(messages\[\d+\])(?:#\d+)?\./.exec(at) ?? [];
    if (kind === 'repaired' && place !== undefined) this.#repaired.add(place);
  }

  isRepaired({ parts }: Unit): boolean {
    return parts.some(({ index }) => this.#repaired.has(`messages[${index}]`));
  }
}
