import type { ConversationRef } from '../domain/ids.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { countStreams } from './stream-store.ts';

/**
 * Removes all records of a conversation, as `lua/shared/erase.lua` does in Redis, but in a single batch.
 * @returns number of removed keys
 */
export function eraseRecords(db: MemoryDatabase, ref: ConversationRef): number {
  const removed = (db.isGone(ref) ? db.removedKeys(ref) : 0) + countKeys(db, db.find(ref));
  db.remove(ref);
  const framed = `|${ref.tenant}|${ref.id}|`;
  for (const names of [db.outbox, db.quarantined]) {
    for (const name of names.keys()) if (`${name}|`.includes(framed)) names.delete(name);
  }
  db.markGone(ref, removed);
  return removed;
}

/**
 * Counts the keys that Redis would have: one for each kind of record that exists, and one for each turn, stream, summary
 * and operation.
 */
function countKeys(db: MemoryDatabase, conversation: MemoryConversation | undefined): number {
  if (conversation === undefined) return 0;
  const { log, packed, mailbox, versions, summaries, texts, pass, events } = conversation;
  const { turnRecords, summaryRecords, operations, replacements } = conversation;
  const kinds = [log.length, packed.length, mailbox.length, versions.size, summaries.size + texts.size, events.length];
  const single = kinds.filter((count) => count > 0).length + (pass === undefined ? 1 : 2);
  return (
    single +
    countStreams(db, conversation) +
    turnRecords.size +
    summaryRecords.size +
    operations.size +
    replacements.size
  );
}
