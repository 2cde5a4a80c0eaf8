import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readOpenTurns } from '../front-end/reads.ts';
import type { AgUiMessage } from './events.ts';
import { turnOf } from './message-names.ts';
import type { RunRequest } from './run-input.ts';
import { readUserTexts } from './run-messages.ts';

/** The last log entries, and the first open turns, among which the texts of the user are looked for. */
const LOG_TAIL = 500;

/**
 * Reads the text that a run adds to the thread. A front-end sends its whole thread each time, and a message has no name that
 * the log knows. So texts that earlier runs brought are found by their content, among the open turns and in the log. The
 * search in the log begins at the last turn of which the front-end has messages.
 * @param answered turn whose calls the run answers
 * @returns undefined without a new text
 */
export async function readNewInput(
  backend: Backend,
  request: RunRequest,
  answered: string | undefined,
): Promise<string | undefined> {
  const { messages } = request;
  const seen = answered ?? findSeenTurn(messages);
  const { texts, firstNew, isBehindTurn } = readUserTexts(messages, seen);
  const last = texts.length - 1;
  if (firstNew > last) return undefined;
  if (answered === undefined && firstNew === last) return texts[last];
  const known = findKnown(texts, await readKnownTexts(backend, request, { seen, isBehindTurn }));
  const added = texts.filter((_, index) => {
    if (index < firstNew) return false;
    // A run that answers nothing is for its last message, also if the message came before: the person asks again.
    return !known.has(index) || (answered === undefined && index === last);
  });
  return added.length === 0 ? undefined : added.join('\n\n');
}

/** The turn of the last message that names one. */
function findSeenTurn(messages: readonly AgUiMessage[]): string | undefined {
  const last = messages.findLast(({ id, role }) => role !== 'user' && turnOf(id) !== '');
  return last && turnOf(last.id);
}

interface Seen {
  readonly seen: string | undefined;
  /** True if the front-end has messages of the turn, so that its own input is not looked for. */
  readonly isBehindTurn: boolean;
}

/** Texts of the user that earlier runs brought, oldest first: behind the input of the turn, and in turns that no worker has claimed. */
async function readKnownTexts(
  backend: Backend,
  { threadId }: RunRequest,
  { seen, isBehindTurn }: Seen,
): Promise<string[]> {
  const { client, nameOf } = backend;
  // Read before the log. So a turn that begins in between is in the log.
  const open = await readOpenTurns(backend, threadId, { limit: LOG_TAIL, inputs: true });
  const { head } = (await readIfAny(client.describe(nameOf(threadId)))) ?? { head: 0 };
  const log = head === 0 ? [] : await client.log(nameOf(threadId), { after: Math.max(0, head - LOG_TAIL) });
  const first = seen === undefined ? 0 : log.findIndex(({ turn }) => turn === seen);
  const users = log
    .slice(Math.max(0, first))
    .filter(({ message, turn }) => message.role === 'user' && !(isBehindTurn && turn === seen));
  const logged = new Set(users.map(({ turn }) => turn));
  const queued = (open?.turns ?? []).flatMap(({ turn, input }) => {
    return input === undefined || logged.has(turn) ? [] : [input];
  });
  return [...users.map(({ message }) => message.content), ...queued];
}

/**
 * Finds the texts that are known. One known message may have several texts in a row, which one run brought.
 * @returns their indexes
 */
function findKnown(texts: readonly string[], known: readonly string[]): Set<number> {
  const left = [...known];
  const found = new Set<number>();
  for (let at = 0; at < texts.length; at += 1) {
    const ends = left.map((message) => endOfMatch(texts, at, message));
    const index = ends.findIndex((end) => end !== undefined);
    const end = ends[index];
    if (end === undefined) continue;
    left.splice(index, 1);
    for (; at < end; at += 1) found.add(at);
    found.add(at);
  }
  return found;
}

/** Index of the last of the texts that make up a message together, from `first` on. */
function endOfMatch(texts: readonly string[], first: number, message: string): number | undefined {
  if (!message.startsWith(texts[first] ?? '')) return undefined;
  let joined = texts[first] ?? '';
  let end = first;
  while (joined.length < message.length && end + 1 < texts.length) {
    end += 1;
    joined += `\n\n${texts[end]}`;
  }
  return joined === message ? end : undefined;
}
