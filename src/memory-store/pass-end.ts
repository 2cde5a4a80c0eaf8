import { isCounted, type PassOutcome, settlesSize } from '../domain/pass.ts';
import type { PassEndResult, PassLease } from '../domain/ports/pass-store.ts';
import type { DecisionAnswer } from '../domain/ports/proposal-store.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { restartIdleTtl } from './idle-ttl.ts';
import { emit, endWait } from './mailbox.ts';
import { readyEntry } from './members.ts';
import { answerDecision } from './proposal-store.ts';

/** Records the owner of a pass before it is taken away, as `lua/shared/pass-fence.lua` does in Redis. */
export function supersedeOwner(conversation: MemoryConversation): void {
  const { owner, parked, releasedBy } = conversation.pass ?? {};
  conversation.superseded = owner ?? parked?.by ?? releasedBy ?? conversation.superseded;
}

/** Returns the reply to a repeated call that ended the pass before, as `lua/shared/pass-end.lua` does in Redis. */
export function findEnd(db: MemoryDatabase, lease: PassLease): PassEndResult | undefined {
  const last = db.find(lease.conversation)?.lastEnd;
  if (last?.passId !== lease.passId) return undefined;
  return { status: 'ended', ...(last.isAwaited && { wakeTurn: last.wakeTurn }) };
}

/** Ends a compaction pass and wakes the turn that waits for it, as `lua/shared/pass-end.lua` does in Redis. */
export function finishPass(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  outcome: PassOutcome['kind'] | 'superseded',
  wakeTurn: string,
): boolean {
  const passId = conversation.pass?.passId ?? '';
  answerDecision(conversation, answerOf(outcome, conversation.version));
  conversation.pass = undefined;
  restartIdleTtl(db, conversation);
  db.ready.delete(readyEntry('p', conversation.ref));
  db.sweeps.delete(readyEntry('p', conversation.ref));
  const settles = settlesSize(outcome);
  const isAwaited = endWait(db, conversation, 'compaction', { wake: wakeTurn, isFulfilled: settles });
  if (isCounted(outcome)) {
    conversation.passed = { head: conversation.log.length, turns: conversation.turns };
    emit(db, conversation, 'pass_ended', { passId, outcome });
  }
  conversation.lastEnd = { passId, wakeTurn, isAwaited, settles };
  return isAwaited;
}

function answerOf(outcome: string, version: number): DecisionAnswer {
  if (outcome === 'approved') return { status: 'approved', version };
  return { status: outcome === 'rejected' ? 'rejected' : 'superseded' };
}
