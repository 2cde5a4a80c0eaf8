import type { ConversationRef } from '../domain/ids.ts';
import type { ExpireResult } from '../domain/ports/sweep-store.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { eraseRecords } from './erase.ts';
import { idleEntry } from './members.ts';

const BUSY_MS = 60_000;

/** Restarts the idle TTL after activity, as `start_idle_ttl` of `lua/shared/idle-ttl.lua` does in Redis. */
export function restartIdleTtl(db: MemoryDatabase, conversation: MemoryConversation, newMs?: number): void {
  const ms = newMs ?? conversation.ttl?.ms ?? 0;
  if (ms === 0) {
    if (conversation.ttl !== undefined) db.ready.delete(idleEntry(conversation.ref));
    conversation.ttl = undefined;
    return;
  }
  const ends = db.now() + ms;
  conversation.ttl = { ms, ends };
  db.ready.set(idleEntry(conversation.ref), ends);
}

/** Erases an idle conversation, as `lua/expire.lua` does in Redis. In memory an erase is never interrupted. */
export function expire(db: MemoryDatabase, ref: ConversationRef, owner: string): ExpireResult {
  const member = idleEntry(ref);
  const conversation = db.find(ref);
  if (conversation?.ttl === undefined) {
    db.ready.delete(member);
    const last = conversation === undefined ? db.expiries.get(member) : undefined;
    return last?.owner === owner ? { status: 'expired', removedKeys: last.removedKeys } : { status: 'kept' };
  }
  const ends = findIdleEnd(db, conversation, conversation.ttl);
  if (ends > db.now()) {
    db.ready.set(member, ends);
    return { status: 'kept' };
  }
  const removedKeys = eraseRecords(db, ref);
  db.expiries.set(member, { owner, removedKeys });
  return { status: 'expired', removedKeys };
}

function findIdleEnd(
  db: MemoryDatabase,
  { mailbox, pass, fork, log, turnRecords }: MemoryConversation,
  { ms, ends }: NonNullable<MemoryConversation['ttl']>,
): number {
  const pauseMs = Math.max(ms, BUSY_MS);
  const isCopied = fork?.isOpen === true && fork.until > db.now();
  if (mailbox.length > 0 || pass !== undefined || isCopied) return db.now() + pauseMs;
  const idleEnd = Math.max(ends, (log.at(-1)?.at ?? 0) + ms);
  const due = [...turnRecords.values()].flatMap(({ state, dueAt = 0 }) => (state === 'scheduled' ? [dueAt] : []));
  return idleEnd > db.now() || due.length === 0 ? idleEnd : Math.max(db.now(), ...due) + pauseMs;
}
