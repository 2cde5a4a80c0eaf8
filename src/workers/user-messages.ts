import type { ConversationRef } from '../domain/ids.ts';
import type { ContextReader } from '../store/contexts.ts';

const CHUNK = 16;

/**
 * Finds the seq of the log's first user message. The search starts at seq 1, because that message is nearly always
 * among the first two.
 */
export async function findFirstUser(
  contexts: Pick<ContextReader, 'readLog'>,
  conversation: ConversationRef,
  head: number,
): Promise<number | undefined> {
  for (let from = 1; from <= head; from += CHUNK) {
    const entries = await contexts.readLog(conversation, [{ from, to: Math.min(head, from + CHUNK - 1) }]);
    const user = entries.find((entry) => entry.message.role === 'user');
    if (user !== undefined) return user.seq;
  }
  return undefined;
}

/** Text of the last user message among the 16 log entries before `seq`. Undefined if none of them is a user message. */
export async function findUserTextBefore(
  contexts: Pick<ContextReader, 'readLog'>,
  conversation: ConversationRef,
  seq: number,
): Promise<string | undefined> {
  if (seq <= 1) return undefined;
  const entries = await contexts.readLog(conversation, [{ from: Math.max(1, seq - CHUNK), to: seq - 1 }]);
  return entries.findLast((entry) => entry.message.role === 'user')?.message.content;
}
