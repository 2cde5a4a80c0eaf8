import type { ConversationName, TurnfoldClient } from '../../api/client/index.ts';
import type { LogEntry } from '../../domain/message.ts';

/** Entries of one read, so that a long log does not fill the memory. */
const PAGE = { limit: 500, maxBytes: 4_000_000 };
/** Characters before and behind the first match. */
const AROUND = 120;

interface Match {
  readonly seq: number;
  readonly role: string;
  /** How the live context shows the message. */
  readonly state: string;
  readonly text: string;
}

interface Found {
  /** Newest first. */
  readonly matches: readonly Match[];
  /** Number of messages that were searched. */
  readonly searched: number;
  readonly hasMore: boolean;
}

/** Finds messages that hold all words of the text, in any case, and says what became of each in the live context. */
export async function searchLog(
  client: Pick<TurnfoldClient, 'outline' | 'log'>,
  conversation: ConversationName,
  text: string,
  most: number,
): Promise<Found> {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Omit<Match, 'state'>[] = [];
  let searched = 0;
  for (let after = 0; ; ) {
    const log = await client.log(conversation, { after, ...PAGE });
    const last = log.at(-1);
    if (last === undefined) break;
    searched += log.length;
    found.push(...log.flatMap((entry) => matchEntry(entry, words)));
    after = last.seq;
  }
  const newest = found.slice(-most).toReversed();
  const matches = await Promise.all(
    newest.map(async ({ seq, ...match }): Promise<Match> => {
      const { entries } = await client.outline(conversation, { after: seq - 1, limit: 1 });
      return { seq, state: entries[0]?.state ?? 'live', ...match };
    }),
  );
  return { matches, searched, hasMore: found.length > most };
}

function matchEntry({ seq, message }: LogEntry, words: readonly string[]): Omit<Match, 'state'>[] {
  const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => `${name}(${given})`);
  const text = [message.content, ...calls].join('\n');
  const lower = text.toLowerCase();
  if (!words.every((word) => lower.includes(word))) return [];
  const at = lower.indexOf(words[0] ?? '');
  return [{ seq, role: message.role, text: text.slice(Math.max(0, at - AROUND), at + AROUND) }];
}
