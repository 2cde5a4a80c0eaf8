import type { ConversationName, TurnfoldClient } from '../../api/client/index.ts';
import type { LogEntry, Message } from '../../domain/message.ts';
import type { SeqRange } from '../../domain/version.ts';

/** Entries of one read, so that a long log does not fill the memory. */
const PAGE = { limit: 500, maxBytes: 4_000_000 };
/** Characters before and behind the first match. */
const AROUND = 120;
const MOST_PLACES = 20;

interface Match {
  readonly seq: number;
  readonly role: string;
  readonly turn?: string;
  /** How the live context shows the message. */
  readonly state: string;
  /** Version that gave the message this state, for `report`. Absent for `live`. */
  readonly by?: number;
  /** Why the message left the context when its turn was settled. */
  readonly left?: string;
  readonly text: string;
}

interface Found {
  /** Newest first. */
  readonly matches: readonly Match[];
  /** Messages of the live context that hold all words. A summary stands for several messages of the log. */
  readonly modelReads: readonly SeqRange[];
  /** Number of messages that were searched. */
  readonly searched: number;
  readonly hasMore: boolean;
}

export interface LogSearch {
  readonly conversation: ConversationName;
  readonly text: string;
  /** Maximum number of matches. */
  readonly most: number;
  /** Aborts when the client no longer wants the answer. */
  readonly signal: AbortSignal;
}

/** Finds messages that hold all words of the text, in any case, and says what became of each in the live context. */
export async function searchLog(
  client: Pick<TurnfoldClient, 'outline' | 'log' | 'context'>,
  { conversation, text, most, signal }: LogSearch,
): Promise<Found> {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Omit<Match, 'state'>[] = [];
  let searched = 0;
  let count = 0;
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const log = await client.log(conversation, { after, ...PAGE });
    const last = log.at(-1);
    if (last === undefined) break;
    searched += log.length;
    const matches = log.flatMap((entry) => matchEntry(entry, words));
    count += matches.length;
    found.push(...matches);
    found.splice(0, found.length - most);
    after = last.seq;
  }
  const matches: Match[] = [];
  for (const { seq, ...match } of found.toReversed()) {
    signal.throwIfAborted();
    const { entries } = await client.outline(conversation, { after: seq - 1, limit: 1 });
    const { state = 'live', by, left } = entries[0] ?? {};
    matches.push({ seq, state, ...(by !== undefined && { by }), ...(left !== undefined && { left }), ...match });
  }
  const { items } = await client.context(conversation);
  const modelReads = items.filter(({ message }) => holdsWords(message, words)).map(({ from, to }) => ({ from, to }));
  return { matches, modelReads: modelReads.slice(-MOST_PLACES), searched, hasMore: count > most };
}

/** The text of a message, and the arguments of its calls. */
export function writeWholeMessage({ content, toolCalls = [] }: Message): string {
  return [content, ...toolCalls.map(({ name, arguments: given }) => `${name}(${given})`)].join('\n');
}

function holdsWords(message: Message, words: readonly string[]): boolean {
  const text = writeWholeMessage(message).toLowerCase();
  return words.every((word) => text.includes(word));
}

function matchEntry({ seq, turn, message }: LogEntry, words: readonly string[]): Omit<Match, 'state'>[] {
  if (!holdsWords(message, words)) return [];
  const text = writeWholeMessage(message);
  const at = text.toLowerCase().indexOf(words[0] ?? '');
  const shown = text.slice(Math.max(0, at - AROUND), at + AROUND).toWellFormed();
  return [{ seq, role: message.role, ...(turn !== undefined && { turn }), text: shown }];
}
