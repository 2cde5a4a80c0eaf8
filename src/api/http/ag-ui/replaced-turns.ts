import { includesScope } from '../../../domain/access-key.ts';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import type { LogEntry } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { HttpProblem } from '../problem.ts';
import { turnOf } from './message-names.ts';
import type { UserText } from './run-messages.ts';

/** So many of the last log entries are compared with the messages of a run. */
const LOG_TAIL = 500;

/** Name in the metadata of a turn for the user message that began it. */
const MESSAGE_ID = 'ag-ui.messageId';
/** Maximum length of a value of the metadata. */
const ID_CHARACTERS = 512;

/** Metadata of the turn that a user message begins. */
export function writeMessageId(id: string): Readonly<Record<string, string>> {
  return { [MESSAGE_ID]: cutId(id) };
}

/** User message of the log or of an open turn. */
export interface KnownText {
  readonly turn: string;
  readonly text: string;
  readonly isOpen: boolean;
}

/**
 * Reads the user's texts of earlier runs: in the log from the turn on, and in turns that no worker has claimed.
 * @param isBehindTurn true: without the input of the turn itself
 */
export async function readKnownTexts(
  backend: Backend,
  threadId: string,
  { seen, isBehindTurn }: { readonly seen: string | undefined; readonly isBehindTurn: boolean },
): Promise<KnownText[]> {
  // Open turns are read first, so that a turn that begins between the two reads is in the log.
  const open = (await readOpenTurns(backend, threadId, { limit: LOG_TAIL, inputs: true }))?.turns ?? [];
  const log = await readLogFrom(backend, threadId, seen);
  const first = seen === undefined ? 0 : log.findIndex(({ turn }) => turn === seen);
  const versions = log.length === 0 ? [] : await backend.client.versions(backend.nameOf(threadId));
  const shown = omitRolledBack(log.slice(Math.max(0, first)), versions);
  const users = shown.filter(({ message, turn }) => message.role === 'user' && !(isBehindTurn && turn === seen));
  const opened = new Set(open.map(({ turn }) => turn));
  const logged = users.map(({ message, turn = '' }) => ({ turn, text: message.content, isOpen: opened.has(turn) }));
  const known = new Set(log.map(({ turn }) => turn));
  const queued = open.flatMap(({ turn, input }) => {
    return input === undefined || known.has(turn) ? [] : [{ turn, text: input, isOpen: true }];
  });
  return [...logged, ...queued];
}

async function readLogFrom(backend: Backend, threadId: string, turn: string | undefined): Promise<LogEntry[]> {
  const { client, nameOf } = backend;
  const inputSeq = turn === undefined ? undefined : (await readTurn(backend, threadId, turn))?.inputSeq;
  if (inputSeq === undefined) return await readLogTail(backend, threadId, LOG_TAIL);
  return await client.log(nameOf(threadId), { after: inputSeq - 1, limit: LOG_TAIL });
}

/** Turns that a run takes out of the thread, because its front-end no longer has their messages. Oldest first. */
export type Replaced = readonly KnownText[];

interface Compared {
  /** User messages of the front-end behind the last turn that it shows. */
  readonly texts: readonly UserText[];
  /** User messages of the log behind that turn. */
  readonly known: readonly KnownText[];
  /** User message that the run names as replaced. */
  readonly replaces: string | undefined;
}

/**
 * Finds the turns that an edited or regenerated message replaces. A message that is sent again under its old id is
 * regenerated. An edit names the message that it replaces. Without a name, a front-end that lacks turns of the log was
 * opened before other front-ends began them, and replaces nothing.
 * @returns `misses`: the front-end lacks turns that stay
 * @throws invalid_input if the named message is unknown
 */
export async function findReplaced(
  backend: Backend,
  threadId: string,
  { texts, known, replaces }: Compared,
): Promise<{ readonly replaced: Replaced; readonly misses: boolean }> {
  const nameOf = async (one: KnownText | undefined): Promise<string | undefined> =>
    one && (await readMessageId(backend, threadId, one.turn));
  if (replaces !== undefined) {
    const names = await Promise.all(known.map(nameOf));
    const from = names.findLastIndex((name, at) => name === cutId(replaces) || known[at]?.turn === turnOf(replaces));
    if (from !== -1) return { replaced: known.slice(from), misses: false };
    const why = `the thread has no user message ${replaces} behind the last answer among the messages of the run`;
    throw fieldError('invalid_input', 'forwardedProps.turnfold.replaces', why);
  }
  const { same, used } = countSame(texts, known);
  const isAllKnown = used === texts.length;
  const from = isAllKnown ? same - 1 : same;
  const first = known[Math.max(0, from)];
  const last = texts.at(-1);
  // A page that was loaded again has ids that name the turn.
  const isOld =
    first !== undefined &&
    last !== undefined &&
    (cutId(last.id) === (await nameOf(first)) || turnOf(last.id) === first.turn);
  if (isOld) return { replaced: known.slice(Math.max(0, from)), misses: false };
  return { replaced: [], misses: same < known.length };
}

function cutId(id: string): string {
  return id.slice(0, ID_CHARACTERS);
}

async function readMessageId(backend: Backend, threadId: string, turn: string): Promise<string | undefined> {
  return (await readTurn(backend, threadId, turn))?.metadata?.[MESSAGE_ID];
}

/** Counts the known messages that the texts begin with. A known message may consist of several texts in a row. */
function countSame(texts: readonly UserText[], known: readonly KnownText[]): { same: number; used: number } {
  let used = 0;
  for (const [same, { text }] of known.entries()) {
    const end = endOfMatch(
      texts.map((one) => one.text),
      used,
      text,
    );
    if (end === undefined) return { same, used };
    used = end + 1;
  }
  return { same: known.length, used };
}

/** @returns index of the last text of the known message, which begins with the text at `first` */
export function endOfMatch(texts: readonly string[], first: number, message: string): number | undefined {
  const begin = texts[first];
  if (begin === undefined || !message.startsWith(begin)) return undefined;
  let joined = begin;
  let end = first;
  while (joined.length < message.length && end + 1 < texts.length) {
    end += 1;
    joined += `\n\n${texts[end]}`;
  }
  return joined === message ? end : undefined;
}

/** To take back a turn before the last one is a rollback, which needs the scope `admin`. */
export function checkReplaced({ scopes }: Backend, replaced: Replaced): void {
  if (replaced.length <= 1 || includesScope(scopes, 'admin')) return;
  const why = 'this key may edit or regenerate the last user message only. For an earlier one it needs the scope admin';
  throw new HttpProblem('forbidden', why, { field: 'messages' });
}

/** @param next turn that begins afterwards. A copy of the request may have begun it already */
export async function takeOut(
  { client, nameOf }: Backend,
  threadId: string,
  { replaced, next }: { readonly replaced: Replaced; readonly next: string },
): Promise<void> {
  const name = nameOf(threadId);
  // Newest first, so that no queued turn begins.
  for (const { turn, isOpen } of replaced.toReversed()) {
    if (isOpen && turn !== next) await readIfAny(client.cancel(name, turn));
  }
  const [first] = replaced;
  if (first === undefined) return;
  await client.rollBackTurn(name, first.turn, { operation: `rollback.${next}` }).catch((error: unknown) => {
    // The replaced turn never began, so there is nothing to roll back.
    if (!isTurnfoldError(error, 'conflict') || error.field !== 'turn') throw error;
  });
}
