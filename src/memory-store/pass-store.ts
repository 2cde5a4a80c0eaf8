import { hasHardReason } from '../domain/compaction/thresholds.ts';
import { proposalEvent } from '../domain/event-record.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type {
  PassClaimResult,
  PassEnd,
  PassEndResult,
  PassLease,
  PassLost,
  PassRequest,
  PassRequestResult,
  PassStore,
  VersionCommit,
  VersionCommitResult,
  VersionProposal,
  VersionProposalResult,
} from '../domain/ports/pass-store.ts';
import { checkNumber } from '../domain/version.ts';
import { toConversationState } from './conversation-state.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { restartIdleTtl } from './idle-ttl.ts';
import { emit, WAKE_GRACE_MS } from './mailbox.ts';
import { readyEntry } from './members.ts';
import { findEnd, finishPass, supersedeOwner } from './pass-end.ts';
import type { MemoryPass } from './pass-record.ts';
import { answerDecision, awaitReview, dropProposal, isLeftToReview } from './proposal-store.ts';
import { putVersion } from './put-version.ts';

/**
 * Opens the store of compaction passes in memory. The contract tests in test/store run against this store and against
 * Redis.
 */
export function openMemoryPassStore(db: MemoryDatabase): PassStore {
  return {
    requestPass: async (request) => requestPass(db, request),
    claimPass: async (ref, owner, job, wakeTurn) => claimPass(db, ref, { owner, job, wakeTurn }),
    takeOverPass: async (ref, owner, passId) => takeOverPass(db, { conversation: ref, owner, passId }),
    heartbeatPass: async (lease) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      leasePass(db, owned.conversation, owned.pass, lease.owner);
      return { status: 'renewed' };
    },
    readReasons: async (lease) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      const { reasons, refusedTokens, calibration } = owned.pass;
      return {
        status: 'current',
        reasons: [...reasons],
        ...(refusedTokens !== undefined && { refusedTokens }),
        ...(calibration !== undefined && { calibration }),
      };
    },
    recordPlan: async (lease, plan) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      if (owned.pass.plan === undefined) owned.pass.attempts = 1;
      owned.pass.plan = plan;
      return { status: 'recorded' };
    },
    releasePass: async (lease) => releasePass(db, lease),
    parkPass: async (lease, job, parkMs) => parkPass(db, lease, { job, parkMs }),
    endPass: async (lease, end) => endPass(db, lease, end),
    commitVersion: async (lease, commit) => {
      checkNumber(commit);
      return commitVersion(db, lease, commit);
    },
    proposeVersion: async (lease, proposal) => proposeVersion(db, lease, proposal),
    refuseApproval: async (lease, refusal) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return isLeftToReview(db, lease, owned) ? { status: 'refused' } : owned;
      const { conversation, pass } = owned;
      if (pass.review === undefined) return { status: 'dropped' };
      answerDecision(conversation, { status: 'refused', refusal: structuredClone(refusal) });
      awaitReview(db, conversation, lease.owner);
      emit(db, conversation, 'approval_refused', { passId: lease.passId, code: refusal.code });
      return { status: 'refused' };
    },
  };
}

function requestPass(db: MemoryDatabase, request: PassRequest): PassRequestResult {
  const { conversation: ref, reasons, refusedTokens, calibration, passId, wake } = request;
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  if (conversation === undefined) return { status: 'not_found' };
  const forking = db.findFork(ref);
  if (forking !== undefined) return forking;
  if (conversation.lastEnd?.passId === passId) return { status: 'requested', passId, needsWake: false };
  const { pass } = conversation;
  if (pass !== undefined) {
    pass.reasons = [...new Set([...pass.reasons, ...reasons])];
    if (refusedTokens !== undefined) pass.refusedTokens = Math.min(refusedTokens, pass.refusedTokens ?? refusedTokens);
    if (calibration !== undefined) pass.calibration = Math.max(calibration, pass.calibration ?? calibration);
    if (hasHardReason(reasons) && pass.review !== undefined) {
      dropProposal(conversation);
      if (pass.owner === undefined) {
        pass.wake = wake;
        db.ready.set(readyEntry('p', ref), db.now() + WAKE_GRACE_MS);
        return { status: 'joined', passId: pass.passId, needsWake: true };
      }
    }
    const status = pass.passId === passId ? 'requested' : 'joined';
    return { status, passId: pass.passId, needsWake: pass.wake === wake };
  }
  createPass(db, conversation, { passId, reasons: [...new Set(reasons)], refusedTokens, calibration, wake });
  return { status: 'requested', passId, needsWake: true };
}

/** Creates a pass in a conversation without an open pass, as `lua/shared/create-pass.lua` does in Redis. */
export function createPass(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  made: Pick<MemoryPass, 'passId' | 'reasons' | 'refusedTokens' | 'calibration' | 'wake'>,
): void {
  conversation.pass = { ...made, attempts: 0, requestedAt: db.now() };
  db.ready.set(readyEntry('p', conversation.ref), db.now() + WAKE_GRACE_MS);
}

function claimPass(
  db: MemoryDatabase,
  ref: ConversationRef,
  { owner, job, wakeTurn }: { readonly owner: string; readonly job: string; readonly wakeTurn: string },
): PassClaimResult {
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  const last = conversation?.lastEnd;
  if (last?.wakeTurn === wakeTurn) {
    return { status: 'failed', passId: last.passId, ...(last.isAwaited && { wakeTurn }) };
  }
  const pass = conversation?.pass;
  if (conversation === undefined || pass === undefined) {
    db.ready.delete(readyEntry('p', ref));
    return { status: 'empty' };
  }
  const { leaseUntil = 0, parked } = pass;
  if (leaseUntil > db.now()) {
    return pass.owner === owner ? claimed(conversation, pass) : { status: 'leased', untilMs: leaseUntil };
  }
  if (parked !== undefined && parked.job !== job && parked.untilMs > db.now()) {
    return { status: 'leased', untilMs: parked.untilMs };
  }
  if (pass.attempts + 1 > PASS_LIMITS.maxAttempts) {
    const { passId } = pass;
    return { status: 'failed', passId, ...(finishPass(db, conversation, 'failed', wakeTurn) && { wakeTurn }) };
  }
  pass.attempts += 1;
  pass.isResumed = parked?.job === job;
  pass.parked = undefined;
  pass.releasedBy = undefined;
  db.sweeps.delete(readyEntry('p', ref));
  leasePass(db, conversation, pass, owner);
  return claimed(conversation, pass);
}

function takeOverPass(db: MemoryDatabase, { conversation: ref, owner, passId }: PassLease): PassClaimResult {
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  const pass = conversation?.pass;
  if (conversation === undefined || pass === undefined) return { status: 'empty' };
  if (pass.passId === passId) return claimed(conversation, pass);
  supersedeOwner(conversation);
  dropProposal(conversation);
  Object.assign(pass, { passId, attempts: 1, isResumed: false, releasedBy: undefined });
  db.sweeps.delete(readyEntry('p', ref));
  leasePass(db, conversation, pass, owner);
  return claimed(conversation, pass);
}

/** Gives a compaction pass back when its worker stops, as `lua/release-pass.lua` does in Redis. */
function releasePass(db: MemoryDatabase, lease: PassLease): { readonly status: 'released' } | PassLost {
  const owned = findOwned(db, lease);
  if ('status' in owned) {
    const pass = db.find(lease.conversation)?.pass;
    const isReleased = pass?.passId === lease.passId && pass.releasedBy === lease.owner;
    return owned.status === 'fenced' && isReleased ? { status: 'released' } : owned;
  }
  const { pass } = owned;
  const attempts = Math.max(pass.attempts - 1, 0);
  Object.assign(pass, { owner: undefined, leaseUntil: undefined, attempts, releasedBy: lease.owner });
  db.ready.set(readyEntry('p', lease.conversation), db.now());
  return { status: 'released' };
}

function parkPass(
  db: MemoryDatabase,
  lease: PassLease,
  { job, parkMs }: { readonly job: string; readonly parkMs: number },
): { readonly status: 'parked' } | PassLost {
  const owned = findOwned(db, lease);
  if ('status' in owned) {
    const pass = db.find(lease.conversation)?.pass;
    const isSame = pass?.parked?.job === job && pass.parked.by === lease.owner;
    const isUnclaimed = pass?.passId === lease.passId && pass.owner === undefined;
    return owned.status === 'fenced' && isUnclaimed && isSame ? { status: 'parked' } : owned;
  }
  const untilMs = db.now() + parkMs;
  Object.assign(owned.pass, { owner: undefined, leaseUntil: undefined, parked: { job, by: lease.owner, untilMs } });
  db.ready.set(readyEntry('p', lease.conversation), untilMs);
  return { status: 'parked' };
}

function endPass(db: MemoryDatabase, lease: PassLease, end: PassEnd): PassEndResult {
  const owned = findOwned(db, lease);
  if ('status' in owned) return owned.status === 'gone' ? owned : (findEnd(db, lease) ?? owned);
  if (hasNewReasons(owned.pass, end)) return { status: 'reasons_added' };
  owned.conversation.backoff = end.backoff;
  const isAwaited = finishPass(db, owned.conversation, end.outcome.kind, end.wakeTurn);
  restartIdleTtl(db, owned.conversation, end.conversationTtl);
  return { status: 'ended', ...(isAwaited && { wakeTurn: end.wakeTurn }) };
}

function commitVersion(db: MemoryDatabase, lease: PassLease, commit: VersionCommit): VersionCommitResult {
  const owned = findOwned(db, lease);
  if ('status' in owned) return owned.status === 'gone' ? owned : (findEnd(db, lease) ?? owned);
  const { conversation } = owned;
  if (hasNewReasons(owned.pass, commit)) return { status: 'reasons_added' };
  const { version, summaries, byHash, expectedVersion, keepVersions } = commit;
  if (conversation.version !== expectedVersion) return { status: 'version_changed', version: conversation.version };
  for (const [key, summary] of summaries) {
    if (!conversation.summaries.has(key)) conversation.summaries.set(key, structuredClone(summary));
  }
  for (const [hash, text] of byHash) conversation.texts.set(hash, text);
  putVersion(db, conversation, version, keepVersions);
  return endPass(db, lease, commit);
}

function proposeVersion(
  db: MemoryDatabase,
  lease: PassLease,
  { proposal, seenReasons, reviewMs }: VersionProposal,
): VersionProposalResult {
  const owned = findOwned(db, lease);
  if ('status' in owned) return isLeftToReview(db, lease, owned) ? { status: 'proposed' } : owned;
  const { conversation, pass } = owned;
  if (hasNewReasons(pass, { seenReasons })) return { status: 'reasons_added' };
  if (conversation.version !== proposal.version.number - 1) {
    return { status: 'version_changed', version: conversation.version };
  }
  const proposedAt = db.now();
  pass.review = { proposal: structuredClone(proposal), proposedAt, expiresAt: proposedAt + reviewMs };
  awaitReview(db, conversation, lease.owner);
  emit(db, conversation, 'version_proposed', proposalEvent(lease.passId, proposal));
  return { status: 'proposed' };
}

/** Returns true if reasons to compact were added after the owner read them, as `lua/shared/pass-fence.lua` does. */
function hasNewReasons({ reasons }: MemoryPass, { seenReasons }: Pick<PassEnd, 'seenReasons'>): boolean {
  return seenReasons !== undefined && seenReasons.join() !== reasons.join();
}

/** Returns the leased pass, or the reason why the lease was lost, as `lua/shared/pass-fence.lua` does in Redis. */
function findOwned(
  db: MemoryDatabase,
  lease: PassLease,
): { conversation: MemoryConversation; pass: MemoryPass } | PassLost {
  if (db.isGone(lease.conversation)) return { status: 'gone' };
  const conversation = db.find(lease.conversation);
  const pass = conversation?.pass;
  if (conversation !== undefined && pass?.passId === lease.passId && pass.owner === lease.owner) {
    return { conversation, pass };
  }
  if (conversation === undefined) return { status: 'unclaimed' };
  return { status: conversation.superseded === lease.owner ? 'superseded' : 'fenced' };
}

function leasePass(db: MemoryDatabase, conversation: MemoryConversation, pass: MemoryPass, owner: string): void {
  pass.owner = owner;
  pass.leaseUntil = db.now() + PASS_LIMITS.leaseMs;
  db.ready.set(readyEntry('p', conversation.ref), pass.leaseUntil);
}

function claimed(conversation: MemoryConversation, pass: MemoryPass): PassClaimResult {
  const { passId, owner = '', reasons, attempts, requestedAt, plan, review } = pass;
  return {
    status: 'claimed',
    pass: {
      lease: { conversation: conversation.ref, passId, owner },
      reasons: [...reasons],
      attempt: attempts,
      requestedAt,
      conversation: toConversationState(conversation),
      isResumed: pass.isResumed === true,
      ...(plan !== undefined && { plan }),
      ...(review !== undefined && {
        review: { proposal: review.proposal, ...(review.decision && { verdict: review.decision.verdict }) },
      }),
    },
  };
}
