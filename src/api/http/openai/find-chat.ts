import type { LogEntry } from '../../../domain/message.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import type { Backend } from '../front-end/backend.ts';
import { openLog, readIfAny, readOpenTurns } from '../front-end/reads.ts';
import { type ComparedMessage, compareLog, hashMessages, isSameMessage } from './chat-history.ts';

/*
 * A client of Chat Completions names no conversation, and sends the whole chat each time. The server finds the
 * conversation whose log says the same. So a chat of a thousand messages is one conversation, and is compacted once.
 * Names follow from texts, so any server finds the same conversation.
 *
 * The first conversation is named after the first message. If its log is the beginning of the chat, the chat goes on
 * there. A message may differ, because a person edited it, or two persons began alike. Then the chat branches: a fork up
 * to that message is named after the chat up to and including it. The walk goes on with that conversation, whose log
 * agrees with at least one message more.
 *
 * A walk that finds nothing costs a new conversation with the whole chat in its log. So the answer always comes from the
 * chat that the client sent.
 */

export interface WantedChat {
  readonly agent: string;
  /** Messages before the last one. */
  readonly history: readonly ComparedMessage[];
  /** The whole chat. */
  readonly chat: readonly ComparedMessage[];
  readonly scope: string;
}

export interface FoundChat {
  readonly conversation: string;
  /** Number of messages of the history that its log has. */
  readonly known: number;
  /** Last position (seq) of its log. */
  readonly head: number;
  /** True if the log goes on with the last message of the chat: an earlier request brought the same. */
  readonly isAsked: boolean;
}

/** Maximum number of branches and repeated requests of one chat. A search that goes further begins a new conversation. */
const MAX_WALK = 64;

/**
 * @param turn id of the turn that the request would begin
 * @param takesAsked true: a conversation that has this turn is the right one. false: it is an earlier attempt
 */
export async function findChat(
  backend: Backend,
  wanted: WantedChat,
  { turn, takesAsked }: { readonly turn: string; readonly takesAsked: boolean },
): Promise<FoundChat | undefined> {
  const { chat, history, scope, agent } = wanted;
  const scoped = `${scope}/${agent}`;
  const first = chat.findIndex(({ kind }) => kind === 'user') + 1;
  let name = nameChat(hashMessages(chat.slice(0, first), scoped));
  let parent: Compared | undefined;
  let attempt = 0;
  let asked: FoundChat | undefined;
  for (let walked = 0; walked < MAX_WALK; walked += 1) {
    const compared = await readCompared(backend, name, chat);
    if (compared === undefined) return asked ?? (await branch(backend, { name, parent, history }));
    const { same, log, isBusy, turns, head } = compared;
    // The last attempt is the one that the client repeats.
    if (takesAsked && turns.has(turn)) asked = { conversation: name, known: same, head, isAsked: true };
    const isPast = same === log.length && same <= history.length && !isBusy && !turns.has(turn);
    if (isPast) return { conversation: name, known: same, head, isAsked: false };
    parent = compared;
    const isRepeated = same >= history.length && (same === chat.length || isBusy || turns.has(turn));
    attempt = isRepeated ? attempt + 1 : attempt;
    const told = isRepeated ? chat : chat.slice(0, same + 1);
    name = nameChat(hashMessages(told, isRepeated ? `${scoped}#${attempt}` : `${scoped}/${told.length}`));
  }
  return asked;
}

export function nameChat(id: string): string {
  return `chat_${id}`;
}

interface Compared {
  readonly name: string;
  readonly log: readonly ComparedMessage[];
  /** Number of messages at the beginning that log and chat have in common. */
  readonly same: number;
  readonly head: number;
  readonly isBusy: boolean;
  readonly turns: ReadonlySet<string>;
}

async function readCompared(
  backend: Backend,
  name: string,
  chat: readonly ComparedMessage[],
): Promise<Compared | undefined> {
  const { client, nameOf } = backend;
  const known = await readIfAny(client.describe(nameOf(name)));
  if (known === undefined) return undefined;
  const open = (await readOpenTurns(backend, name, { limit: 10 }))?.turns ?? [];
  const entries: LogEntry[] = [];
  for await (const entry of await openLog(client, nameOf(name), known.head)) entries.push(entry);
  const shown = omitRolledBack(entries, await client.versions(nameOf(name)));
  const log = compareLog(shown, chat);
  const differs = log.findIndex((message, index) => {
    const other = chat[index];
    return other === undefined || !isSameMessage(message, other);
  });
  const turns = new Set([...entries, ...open].flatMap(({ turn }) => (turn === undefined ? [] : [turn])));
  return { name, log, same: differs === -1 ? log.length : differs, head: known.head, isBusy: open.length > 0, turns };
}

interface Branch {
  readonly name: string;
  readonly parent: Compared | undefined;
  readonly history: readonly ComparedMessage[];
}

/** Copies what parent and history have in common. Without it, the conversation begins empty. */
async function branch({ client, nameOf }: Backend, { name, parent, history }: Branch): Promise<FoundChat> {
  let known = Math.min(parent?.same ?? 0, history.length);
  // A log entry with a text and calls is two messages for the client. A fork takes all of the entry, or nothing.
  while (known > 0 && parent?.log[known]?.from === parent?.log[known - 1]?.to) known -= 1;
  const head = known === 0 ? 0 : (parent?.log[known - 1]?.to ?? 0);
  if (parent === undefined || head === 0) return { conversation: name, known: 0, head: 0, isAsked: false };
  await client.fork(nameOf(parent.name), nameOf(name), { head, operation: 'branch' });
  return { conversation: name, known, head, isAsked: false };
}
