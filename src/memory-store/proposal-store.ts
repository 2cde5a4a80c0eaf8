import { decisionEvent } from '../domain/event-record.ts';
import { isOtherPayload } from '../domain/operation.ts';
import type { PassLease, PassLost } from '../domain/ports/pass-store.ts';
import type { Decision, DecisionAnswer, DecisionResult, ProposalStore } from '../domain/ports/proposal-store.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { findAnswer } from './kept-answers.ts';
import { emit, WAKE_GRACE_MS } from './mailbox.ts';
import { readyEntry } from './members.ts';

const REVIEW = 'review:';

/**
 * Opens the store of compaction proposals, which a person approves or rejects, in memory. The contract tests in test/store
 * run against this store and against Redis.
 */
export function openMemoryProposalStore(db: MemoryDatabase): ProposalStore {
  return {
    readProposal: async (ref) => {
      const pass = db.find(ref)?.pass;
      if (pass?.review === undefined) return undefined;
      const { proposal, proposedAt, expiresAt, decision } = pass.review;
      const { passId, reasons } = pass;
      return structuredClone({ proposal, passId, reasons, proposedAt, expiresAt, isDecided: decision !== undefined });
    },
    decideProposal: async (decision) => decideProposal(db, decision),
    readDecision: async (ref, operation) => {
      const conversation = db.find(ref);
      const isPending = conversation?.pass?.review?.decision?.operation === operation;
      return conversation?.decisions.get(operation) ?? (isPending ? { status: 'pending' } : undefined);
    },
  };
}

function decideProposal(db: MemoryDatabase, decision: Decision): DecisionResult {
  const { conversation: ref, operation, proposal: id, verdict, wake } = decision;
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  if (conversation === undefined) return { status: 'not_found' };
  const known = findAnswer(conversation.decisions, operation, (answer) => ({ status: 'concluded' as const, answer }));
  if (known !== undefined) return known;
  const forking = db.findFork(ref);
  if (forking !== undefined) return forking;
  const { pass } = conversation;
  if (pass?.review?.decision?.operation === operation) return { status: 'decided', needsWake: pass.wake === wake };
  if (isOtherPayload(operation, pass?.review?.decision?.operation)) return { status: 'other_payload' };
  if (pass?.review?.proposal.id !== id) return { status: 'stale', why: 'unknown' };
  const { review } = pass;
  if (review.decision !== undefined) return { status: 'stale', why: 'decided' };
  if (review.expiresAt <= db.now()) return { status: 'stale', why: 'expired' };
  if (conversation.version !== review.proposal.version.number - 1) return { status: 'stale', why: 'version_changed' };
  review.decision = { operation, verdict: structuredClone(verdict) };
  pass.wake = wake;
  pass.parked = undefined;
  db.ready.set(readyEntry('p', ref), db.now() + WAKE_GRACE_MS);
  emit(db, conversation, 'proposal_decided', decisionEvent(id, verdict));
  return { status: 'decided', needsWake: true };
}

/** Leaves a pass to a person who reviews its proposal, as `lua/shared/review.lua` does in Redis. */
export function awaitReview(db: MemoryDatabase, { ref, pass }: MemoryConversation, by: string): void {
  const untilMs = pass?.review?.expiresAt ?? 0;
  Object.assign(pass ?? {}, {
    owner: undefined,
    leaseUntil: undefined,
    attempts: 0,
    parked: { job: REVIEW, by, untilMs },
  });
  db.ready.set(readyEntry('p', ref), untilMs);
}

export function isLeftToReview(db: MemoryDatabase, lease: PassLease, { status }: PassLost): boolean {
  const pass = db.find(lease.conversation)?.pass;
  const isSame = pass?.passId === lease.passId && pass.owner === undefined;
  return status === 'fenced' && isSame && pass.parked?.job === REVIEW && pass.parked.by === lease.owner;
}

export function answerDecision({ pass, decisions }: MemoryConversation, answer: DecisionAnswer): void {
  if (pass?.review?.decision === undefined) return;
  decisions.set(pass.review.decision.operation, answer);
  pass.review.decision = undefined;
}

export function dropProposal(conversation: MemoryConversation): void {
  answerDecision(conversation, { status: 'superseded' });
  Object.assign(conversation.pass ?? {}, { review: undefined, plan: undefined, parked: undefined, attempts: 0 });
}
