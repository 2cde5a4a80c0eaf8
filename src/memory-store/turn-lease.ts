import type { Lost, TurnLease } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { headTurn } from './mailbox.ts';
import { readyEntry } from './members.ts';
import type { MemoryTurn } from './turn-record.ts';

/**
 * Returns the leased turn, or the reason why the lease was lost, as `lua/shared/fence.lua` does in Redis.
 */
export function findOwned(
  db: MemoryDatabase,
  lease: TurnLease,
): { conversation: MemoryConversation; record: MemoryTurn } | Lost {
  if (db.isGone(lease.conversation)) return { status: 'gone' };
  const conversation = db.find(lease.conversation);
  const record = conversation && headTurn(conversation);
  if (record?.turn !== lease.turn || conversation?.owner !== lease.owner || conversation.epoch !== lease.epoch) {
    if (conversation?.turnRecords.get(lease.turn)?.state === 'canceled') return { status: 'canceled' };
    // After an erase, a conversation that is created again begins with a lower epoch.
    return { status: (conversation?.epoch ?? 0) < lease.epoch ? 'gone' : 'fenced' };
  }
  return { conversation, record };
}

export function extendLease(db: MemoryDatabase, conversation: MemoryConversation): void {
  conversation.leaseUntil = db.now() + TURN_LIMITS.leaseMs;
  db.ready.set(readyEntry('t', conversation.ref), conversation.leaseUntil);
}
