import type { ConversationRef } from '../domain/ids.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';

/** Mirrors lua/shared/erase.lua, in one batch. @returns number of removed keys */
export function eraseRecords(db: MemoryDatabase, ref: ConversationRef): number {
  const removed = (db.isGone(ref) ? db.removedKeys(ref) : 0) + countKeys(db.find(ref));
  db.remove(ref);
  db.markGone(ref, removed);
  return removed;
}

/** Counts keys as Redis has them: one for each kind with content, and one for each turn, summary and operation. */
function countKeys(conversation: MemoryConversation | undefined): number {
  if (conversation === undefined) return 0;
  const { log, mailbox, versions, summaries, texts, pass, events } = conversation;
  const { turnRecords, summaryRecords, operations, replacements } = conversation;
  const kinds = [log.length, mailbox.length, versions.size, summaries.size + texts.size, events.length];
  const single = kinds.filter((count) => count > 0).length + (pass === undefined ? 1 : 2);
  return single + turnRecords.size + summaryRecords.size + operations.size + replacements.size;
}
