import { includesScope } from '../../../domain/access-key.ts';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { findRolledBack, isWithin, omitRolledBack } from '../../../domain/rolled-back.ts';
import type { LogEntry } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { openLog, readIfAny, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
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
  /** Absent: the message was appended or imported, so that no run replaces it. */
  readonly turn?: string | undefined;
  readonly text: string;
  readonly isOpen: boolean;
}

/** User messages of a thread, oldest first. */
interface KnownTexts {
  readonly known: readonly KnownText[];
  /** Turns whose messages an edit or a rollback took out. */
  readonly rolledBack: readonly string[];
}

/**
 * Reads the user's texts of earlier runs: in the log from the turn on, and in turns that no worker has claimed.
 * @param isBehindTurn true: without the input of the turn itself
 */
export async function readKnownTexts(
  backend: Backend,
  threadId: string,
  { seen, isBehindTurn }: { readonly seen: string | undefined; readonly isBehindTurn: boolean },
): Promise<KnownTexts> {
  // Open turns are read first, so that a turn that begins between the two reads is in the log.
  const open = (await readOpenTurns(backend, threadId, { limit: LOG_TAIL, inputs: true }))?.turns ?? [];
  const log = await readLogFrom(backend, threadId, seen);
  const first = seen === undefined ? 0 : log.findIndex(({ turn }) => turn === seen);
  const versions = log.length === 0 ? [] : await backend.client.versions(backend.nameOf(threadId));
  const all = log.slice(Math.max(0, first)).filter(({ message }) => message.role === 'user');
  const users = all.filter(({ turn }) => !(isBehindTurn && turn === seen));
  const kept = omitRolledBack(users, versions);
  const opened = new Set<string | undefined>(open.map(({ turn }) => turn));
  const logged = kept.map(({ message, turn }) => ({ turn, text: message.content, isOpen: opened.has(turn) }));
  const begun = new Set(log.map(({ turn }) => turn));
  const queued = open.flatMap(({ turn, input }) => {
    return input === undefined || begun.has(turn) ? [] : [{ turn, text: input, isOpen: true }];
  });
  const rolledBack = users.flatMap((entry) => (kept.includes(entry) ? [] : (entry.turn ?? [])));
  return { known: [...logged, ...queued], rolledBack };
}

async function readLogFrom(backend: Backend, threadId: string, turn: string | undefined): Promise<LogEntry[]> {
  const { client, nameOf } = backend;
  const inputSeq = turn === undefined ? undefined : (await readTurn(backend, threadId, turn))?.inputSeq;
  if (inputSeq === undefined) return await readLogTail(backend, threadId, LOG_TAIL);
  return await client.log(nameOf(threadId), { after: inputSeq - 1, limit: LOG_TAIL });
}

/** Turns that a run takes out of the thread, because its front-end no longer has their messages. Oldest first. */
export type Replaced = readonly KnownText[];

interface Compared extends KnownTexts {
  /** User messages of the front-end behind the last turn that it shows. */
  readonly texts: readonly UserText[];
  /** User message that the run names as replaced. */
  readonly replaces: string | undefined;
}

/**
 * Finds the turns that an edited or regenerated message replaces. A message that is sent again under its old id is
 * regenerated. An edit names the message that it replaces. Without a name, a front-end that lacks turns of the log was
 * opened before other front-ends began them, and replaces nothing. A run that is repeated after an outage may have taken
 * out the named message already.
 * @returns `misses`: the front-end lacks turns that stay
 * @throws invalid_input if the named message is unknown
 */
export async function findReplaced(
  backend: Backend,
  threadId: string,
  { texts, known, rolledBack, replaces }: Compared,
): Promise<{ readonly replaced: Replaced; readonly misses: boolean }> {
  const isNamed = async (turn: string | undefined, id: string): Promise<boolean> =>
    await hasId(backend, threadId, turn, id);
  if (replaces !== undefined) {
    const named = await Promise.all(known.map(async ({ turn }) => await isNamed(turn, replaces)));
    const from = named.lastIndexOf(true);
    if (from !== -1) return { replaced: known.slice(from), misses: false };
    const gone = await Promise.all(rolledBack.map(async (turn) => await isNamed(turn, replaces)));
    if (!gone.includes(true) && !(await wasCanceled(backend, threadId, turnOf(replaces)))) {
      const why = `the thread has no user message ${replaces} behind the last answer among the messages of the run`;
      throw fieldError('invalid_input', 'forwardedProps.turnfold.replaces', why);
    }
  }
  const misses = countSame(texts, known).same < known.length;
  const last = texts.at(-1);
  if (replaces !== undefined || last === undefined) return { replaced: [], misses };
  // Imported messages come before the texts, or between them.
  const own = known.filter(({ turn }) => turn !== undefined);
  const { same, used } = countSame(texts, own);
  const first = own[Math.max(0, used === texts.length ? same - 1 : same)];
  if (first === undefined || !(await isNamed(first.turn, last.id))) return { replaced: [], misses };
  return { replaced: known.slice(known.indexOf(first)), misses: false };
}

function cutId(id: string): string {
  return id.slice(0, ID_CHARACTERS);
}

/** True if the user message that began the turn has this id. A page that was loaded again has ids that name the turn. */
async function hasId(backend: Backend, threadId: string, turn: string | undefined, id: string): Promise<boolean> {
  if (turn === undefined) return false;
  return turnOf(id) === turn || (await readTurn(backend, threadId, turn))?.metadata?.[MESSAGE_ID] === cutId(id);
}

/** True for a turn that was canceled before it began, so that the log never had its message. */
async function wasCanceled(backend: Backend, threadId: string, turn: string): Promise<boolean> {
  const view = turn === '' ? undefined : await readTurn(backend, threadId, turn);
  return view?.state === 'canceled' && view.inputSeq === undefined;
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
export async function checkReplaced(
  backend: Backend,
  threadId: string,
  { replaced, next }: { readonly replaced: Replaced; readonly next: string },
): Promise<void> {
  const { turn } = replaced[0] ?? {};
  if (turn === undefined || includesScope(backend.scopes, 'admin')) return;
  if (replaced.length === 1 && (await isLastTurn(backend, threadId, turn, next))) return;
  const why = 'this key may edit or regenerate the last user message only. For an earlier one it needs the scope admin';
  throw new HttpProblem('forbidden', why, { field: 'messages' });
}

/**
 * Reads up to the end of the thread, because the turn may have more entries than a run reads.
 * @param next turn that a copy of the request may have begun
 */
async function isLastTurn(backend: Backend, threadId: string, turn: string, next: string): Promise<boolean> {
  const { client, nameOf } = backend;
  const isOther = (one: string | undefined): boolean => one !== turn && one !== next;
  const open = (await readOpenTurns(backend, threadId, { limit: 1_000 }))?.turns.map((one) => one.turn) ?? [];
  if (open.slice(Math.max(0, open.indexOf(turn))).some(isOther)) return false;
  const { inputSeq } = await client.result(nameOf(threadId), turn);
  if (inputSeq === undefined) return true;
  const rolledBack = findRolledBack(await client.versions(nameOf(threadId)));
  for await (const entry of await openLog(client, nameOf(threadId), undefined, inputSeq)) {
    const isOfUser = entry.turn !== undefined || entry.message.role === 'user';
    if (isOfUser && isOther(entry.turn) && !isWithin(rolledBack, entry.seq)) return false;
  }
  return true;
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
    if (turn !== undefined && isOpen && turn !== next) await readIfAny(client.cancel(name, turn));
  }
  const first = replaced[0]?.turn;
  if (first === undefined) return;
  await client.rollBackTurn(name, first, { operation: `rollback.${next}` }).catch((error: unknown) => {
    // The replaced turn never began, so there is nothing to roll back.
    if (!isTurnfoldError(error, 'conflict') || error.field !== 'turn') throw error;
  });
}
