import { z } from 'zod';
import type { LogEntry } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny } from '../front-end/reads.ts';
import { listShown, readHistoryFacts, type ShownMessage, showQueued, type UiMessage } from './chat-history.ts';
import { readPlace } from './chat-live.ts';
import type { SdkVersion } from './chunks.ts';
import { describeOpenTurns, isInMailbox } from './open-chat-turns.ts';

const LARGEST_PAGE = 500;
/** Log entries of the first read for each message of the page. A message with tool calls has several entries. */
const ENTRIES_A_MESSAGE = 3;
const READ_ENTRIES = 500;

export const historyQuery = z.strictObject({
  before: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .describe('`before` of the page behind this one. Absent: the newest messages.'),
  limit: z.coerce.number().int().min(1).max(LARGEST_PAGE).default(100).describe('Maximum number of messages.'),
});

interface AskedChat {
  readonly backend: Backend;
  readonly id: string;
  readonly sdkVersion: SdkVersion;
}

/** Reads a page of messages, oldest first, and the place from which a page follows the chat. */
export async function readHistoryPage({ backend, id, sdkVersion }: AskedChat, query: unknown) {
  const { before, limit } = parseInput(historyQuery, query);
  // Read first, so that an event between the two reads comes twice instead of never.
  const place = await readPlace(backend, id);
  const page = (await readIfAny(readPage(backend, { id, before, limit, sdkVersion }))) ?? { shown: [], isFirst: true };
  const [first] = page.shown;
  const messages = page.shown.map(({ message }) => message);
  return {
    id,
    messages: before === undefined ? addFirstAsked(messages, place.open) : messages,
    turns: describeOpenTurns({ turns: place.open }),
    after: place.after,
    ...(first !== undefined && !page.isFirst && { before: String(first.seq) }),
  };
}

/** Adds the message of the first open turn, whose answer the page streams, although no worker has begun the turn. */
function addFirstAsked(messages: readonly UiMessage[], open: OpenTurns['turns']): readonly UiMessage[] {
  const first = open.find(isInMailbox);
  const asked = first && showQueued(first);
  return asked === undefined || messages.some(({ id }) => id === asked.id) ? messages : [...messages, asked];
}

interface AskedPage {
  readonly id: string;
  readonly before: number | undefined;
  readonly limit: number;
  readonly sdkVersion: SdkVersion;
}

interface FoundPage {
  readonly shown: readonly ShownMessage[];
  readonly isFirst: boolean;
}

async function readPage(backend: Backend, { id, before, limit, sdkVersion }: AskedPage): Promise<FoundPage> {
  const { facts, head } = await readHistoryFacts(backend, id, sdkVersion);
  const end = before === undefined ? head : Math.min(head, before - 1);
  for (let size = limit * ENTRIES_A_MESSAGE; ; size *= 2) {
    const from = Math.max(0, end - size);
    const entries = await readEntries(backend, id, { from, end });
    const shown: ShownMessage[] = [];
    for await (const one of listShown(facts, from === 0 ? entries : dropBroken(entries))) shown.push(one);
    const page = takeLast(shown, limit);
    if (page.length < shown.length || from === 0) return { shown: page, isFirst: page.length === shown.length };
  }
}

async function readEntries(
  { client, nameOf }: Backend,
  id: string,
  { from, end }: { readonly from: number; readonly end: number },
): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for (let after = from; after < end; ) {
    const batch = await client.log(nameOf(id), { after, limit: Math.min(READ_ENTRIES, end - after) });
    if (batch.length === 0) break;
    entries.push(...batch.filter(({ seq }) => seq <= end));
    after = batch.at(-1)?.seq ?? end;
  }
  return entries;
}

/** Drops the rest of an answer whose start was not read. A steering message looks like the start of a turn. */
function dropBroken(entries: readonly LogEntry[]): readonly LogEntry[] {
  const starts = entries.findIndex(({ message, turn }, index) => {
    if (message.role !== 'user') return false;
    const answer = entries.slice(index + 1).find(({ message: { role } }) => role === 'assistant');
    return answer === undefined || answer.turn === turn;
  });
  return starts === -1 ? [] : entries.slice(starts);
}

/** A page begins with a user message, so that no answer stands without its question. */
function takeLast(shown: readonly ShownMessage[], limit: number): readonly ShownMessage[] {
  const at = Math.max(0, shown.length - limit);
  const start = shown.findLastIndex(({ message }, index) => index <= at && message.role === 'user');
  return shown.slice(Math.max(0, start));
}
