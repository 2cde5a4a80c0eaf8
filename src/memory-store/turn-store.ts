import { isDeepStrictEqual } from 'node:util';
import type { StepState } from '../domain/conversation.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { NO_WEIGHT } from '../domain/message.ts';
import type { BusyTurnStore } from '../domain/ports/busy-turns.ts';
import type {
  ClaimedTurn,
  ClaimResult,
  Lost,
  RollbackResult,
  SettleResult,
  TurnIntake,
  TurnLease,
  TurnSettlement,
  TurnStore,
  VersionRollback,
} from '../domain/ports/turn-store.ts';
import { POISON_FAILURE, TURN_LIMITS } from '../domain/turn.ts';
import { checkNumber } from '../domain/version.ts';
import { enterInput, openMemoryBusyTurnStore } from './busy-turns.ts';
import { toConversationState, toStepState } from './conversation-state.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { closeOpenCalls } from './log.ts';
import { headTurn, isRecorded, leaveContext, popHead, raiseEpoch, settleHead, wakeTurn } from './mailbox.ts';
import { readyEntry } from './members.ts';
import { dropProposal } from './proposal-store.ts';
import { putVersion } from './put-version.ts';
import { openMemoryTurnIntake } from './turn-intake.ts';
import { extendLease, findOwned } from './turn-lease.ts';
import type { MemoryTurn } from './turn-record.ts';
import { addStep, recordOutcome, suspend } from './turn-steps.ts';
import { viewWaiting } from './waiting.ts';

/** Opens the store of turns in memory. The contract tests in test/store run against this store and against Redis. */
export function openMemoryTurnStore(db: MemoryDatabase): TurnStore & BusyTurnStore & TurnIntake {
  return {
    ...openMemoryTurnIntake(db),
    ...openMemoryBusyTurnStore(db),
    claim: async (ref, ...claimed) => claim(db, ref, ...claimed),
    startSteps: async (lease, keys) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      for (const key of keys) {
        if (!owned.record.steps.has(key)) owned.record.steps.set(key, { status: 'started', at: db.now() });
      }
      return { status: 'recorded' };
    },
    readBriefing: async (ref, turn) => {
      const conversation = db.find(ref);
      const { context } = conversation?.turnRecords.get(turn) ?? {};
      const system = conversation?.system?.turn === turn ? conversation.system.text : undefined;
      return { ...(context !== undefined && { context }), ...(system !== undefined && { system }) };
    },
    keepSystem: async (lease, text) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      const { conversation } = owned;
      if (conversation.system?.turn !== lease.turn) conversation.system = { turn: lease.turn, text };
      return { status: 'kept', system: conversation.system?.text ?? text };
    },
    recordStep: async (lease, outcome) => addStep(db, lease, outcome),
    suspend: async (lease, wait) => suspend(db, lease, wait),
    heartbeat: async (lease) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      extendLease(db, owned.conversation);
      return { status: 'renewed' };
    },
    release: async (lease, wake, delayMs = 0) => release(db, lease, wake, delayMs),
    startAlone: async (lease, isWatched) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      owned.conversation.alone = isWatched ? 'watched' : 'unwatched';
      return { status: 'recorded' };
    },
    reportDeath: async (lease) => {
      const owned = findOwned(db, lease);
      if ('status' in owned) return owned;
      const { conversation } = owned;
      conversation.alone = 'unwatched';
      conversation.leaseUntil = db.now();
      db.ready.set(readyEntry('t', conversation.ref), db.now());
      return { status: 'recorded' };
    },
    rollBackVersion: async (lease, rollback) => rollBackVersion(db, lease, rollback),
    settle: async (lease, settlement, wake) => settle(db, lease, settlement, wake),
  };
}

/** Attempts after which a death alone is proof. A process that died together with its parent has twice as many. */
function mostAttempts({ alone }: MemoryConversation): number {
  return (alone === 'watched' ? 2 : 1) * TURN_LIMITS.maxAttempts;
}

type Claimed = [owner: string, wake: string, agents?: readonly string[]];

function claim(db: MemoryDatabase, ref: ConversationRef, ...[owner, wake, agents]: Claimed): ClaimResult {
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  if (conversation?.poisoned?.wake === wake) {
    const { turn } = conversation.poisoned;
    return { status: 'poison', turn, ...(isRecorded(conversation, wake) && { wake }) };
  }
  const record = conversation && headTurn(conversation);
  if (conversation === undefined || record === undefined) {
    db.ready.delete(readyEntry('t', ref));
    return { status: 'empty' };
  }
  const leaseUntil = conversation.leaseUntil ?? 0;
  if (leaseUntil > db.now()) {
    if (conversation.owner === owner) {
      return { status: 'claimed', turn: withEarlier(conversation, claimedTurn(conversation, record)) };
    }
    return { status: 'leased', untilMs: leaseUntil };
  }
  if (agents?.includes(conversation.agent) === false) return { status: 'unserved', agent: conversation.agent };
  const { waiting } = record;
  if (record.state === 'waiting' && waiting && !waiting.isOver && waiting.until > db.now()) {
    db.ready.set(readyEntry('t', ref), waiting.until);
    return { status: 'waiting', untilMs: waiting.until };
  }
  const { putOffUntil = 0 } = record;
  if (putOffUntil > db.now()) {
    db.ready.set(readyEntry('t', ref), putOffUntil);
    return { status: 'waiting', untilMs: putOffUntil };
  }
  record.putOffUntil = undefined;
  const { alone, attempts } = conversation;
  if (alone !== undefined && attempts >= mostAttempts(conversation)) return poison(db, conversation, record, wake);
  return { status: 'claimed', turn: withEarlier(conversation, takeHead(db, conversation, record, owner)) };
}

/** Adds a short context to a claim, as `short_log` of `lua/claim-turn.lua` does in Redis. */
function withEarlier({ log, version, packed }: MemoryConversation, claimed: ClaimedTurn): ClaimedTurn {
  const earlier = log.slice(0, claimed.input === undefined ? log.length : -1).map(({ message }) => message);
  const bytes = earlier.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
  const isShort = earlier.length <= TURN_LIMITS.claimedMessages && bytes <= TURN_LIMITS.claimedBytes;
  return version === 0 && packed.length === 0 && isShort ? { ...claimed, earlier } : claimed;
}

/** Gives the first turn of the mailbox to a worker, as `lua/shared/take-head.lua` does in Redis. */
function takeHead(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  record: MemoryTurn,
  owner: string,
): ClaimedTurn {
  raiseEpoch(db, conversation);
  conversation.attempts = Math.min(conversation.attempts + 1, mostAttempts(conversation));
  conversation.alone = undefined;
  conversation.owner = owner;
  conversation.poisoned = undefined;
  db.sweeps.delete(readyEntry('t', conversation.ref));
  extendLease(db, conversation);
  enterInput(db, conversation, record);
  record.taken ??= owner;
  return claimedTurn(conversation, record);
}

function poison(db: MemoryDatabase, conversation: MemoryConversation, record: MemoryTurn, wake: string): ClaimResult {
  const { turn } = record;
  closeOpenCalls(conversation, turn, db.now());
  settleHead(db, conversation, record, { state: 'failed', failure: POISON_FAILURE });
  raiseEpoch(db, conversation);
  conversation.poisoned = { wake, turn };
  return { status: 'poison', turn, ...(popHead(db, conversation, wake) && { wake }) };
}

/** Gives a turn back to the queue, as `lua/release-turn.lua` does in Redis. */
function release(
  db: MemoryDatabase,
  lease: TurnLease,
  wake: string,
  delayMs: number,
): { readonly status: 'released' } | Lost {
  const owned = findOwned(db, lease);
  if ('status' in owned) {
    const conversation = db.find(lease.conversation);
    const isReleased = conversation?.owner === undefined && conversation?.epoch === lease.epoch;
    return owned.status === 'fenced' && isReleased && isRecorded(conversation, wake) ? { status: 'released' } : owned;
  }
  const { conversation, record } = owned;
  record.state = 'queued';
  if (delayMs > 0) record.putOffUntil = db.now() + delayMs;
  conversation.attempts = Math.max(conversation.attempts - 1, 0);
  conversation.owner = undefined;
  conversation.leaseUntil = undefined;
  wakeTurn(db, conversation, wake);
  db.ready.set(readyEntry('t', conversation.ref), db.now() + delayMs);
  return { status: 'released' };
}

function rollBackVersion(db: MemoryDatabase, lease: TurnLease, rollback: VersionRollback): RollbackResult {
  checkNumber(rollback);
  const owned = findOwned(db, lease);
  if ('status' in owned) return owned;
  const { conversation } = owned;
  const { version, expectedVersion, shownVersion, refusedSegments, keepVersions } = rollback;
  const live = conversation.versions.get(version.number);
  if (conversation.version === version.number && isDeepStrictEqual(live, version)) {
    return { status: 'known', conversation: toConversationState(conversation) };
  }
  if (conversation.version !== expectedVersion) return { status: 'version_changed', version: conversation.version };
  if ((conversation.answeredVersion ?? -1) >= shownVersion) return { status: 'answered' };
  const { pass } = conversation;
  if (pass?.review !== undefined || pass?.parked !== undefined) {
    dropProposal(conversation);
    if (pass.owner === undefined) db.ready.set(readyEntry('p', conversation.ref), db.now());
  }
  conversation.quarantine = { version: version.number, segments: refusedSegments };
  putVersion(db, conversation, version, keepVersions);
  return { status: 'rolled_back', conversation: toConversationState(conversation) };
}

function settle(
  db: MemoryDatabase,
  lease: TurnLease,
  { step, leaves, ...end }: TurnSettlement,
  wake: string | undefined,
): SettleResult {
  if (db.isGone(lease.conversation)) return { status: 'gone' };
  const conversation = db.find(lease.conversation);
  if (conversation?.settledBy === lease.epoch) {
    const hasNext = conversation.mailbox.length > 0;
    const next = headTurn(conversation);
    const isTaken = conversation.owner === lease.owner && (conversation.leaseUntil ?? 0) > db.now();
    return {
      status: 'known',
      hasNext,
      ...(isRecorded(conversation, wake) && { wake }),
      ...(wake === undefined && next && isTaken
        ? { ...(step && { conversation: stateBefore(conversation, next) }), next: claimedTurn(conversation, next) }
        : step && { conversation: toStepState(conversation) }),
    };
  }
  const owned = findOwned(db, lease);
  if ('status' in owned) return owned;
  if (step !== undefined && recordOutcome(db, owned.conversation, owned.record, step) === 'fenced') {
    return { status: 'fenced' };
  }
  if (end.state === 'failed') {
    closeOpenCalls(owned.conversation, lease.turn, db.now());
    raiseEpoch(db, owned.conversation);
  }
  if (leaves !== undefined) leaveContext(owned.conversation, leaves);
  settleHead(db, owned.conversation, owned.record, end);
  owned.conversation.settledBy = lease.epoch;
  const hasNext = popHead(db, owned.conversation, wake);
  const next = headTurn(owned.conversation);
  if (next === undefined || wake !== undefined) {
    const state = step && { conversation: toStepState(owned.conversation) };
    return { status: 'settled', hasNext, ...(hasNext && wake !== undefined && { wake }), ...state };
  }
  const claimed = takeHead(db, owned.conversation, next, lease.owner);
  const state = step && { conversation: stateBefore(owned.conversation, next) };
  return { status: 'settled', hasNext, ...state, next: claimed };
}

/** The state before the user message of a turn, as `end_before` of `lua/shared/take-head.lua` returns it in Redis. */
function stateBefore(conversation: MemoryConversation, { inputSeq = 1 }: MemoryTurn): StepState {
  const state = toStepState(conversation);
  const headTotal = conversation.log[inputSeq - 2]?.total ?? NO_WEIGHT;
  return { ...state, head: inputSeq - 1, turns: state.turns - 1, size: { ...state.size, headTotal } };
}

function waitedFor(record: MemoryTurn): Pick<ClaimedTurn, 'waited'> {
  if (record.waiting === undefined) return {};
  const { isFulfilled, steps, suspendedIn } = record.waiting;
  const ended = { isFulfilled, steps, ...(suspendedIn !== undefined && { suspendedIn }) };
  return { waited: { ...viewWaiting(record.waiting, record), ...ended } };
}

function countSpent({ usage, requestTokens = [] }: MemoryTurn): number {
  const counted = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  return counted > 0 ? counted : requestTokens.reduce((sum, tokens) => sum + tokens, 0);
}

function claimedTurn(conversation: MemoryConversation, record: MemoryTurn): ClaimedTurn {
  const { ref, owner = '', epoch, attempts } = conversation;
  const last = conversation.log.at(-1);
  return {
    lease: { conversation: ref, turn: record.turn, owner, epoch },
    agent: record.agent,
    attempt: attempts,
    isFirstClaim: record.taken === owner,
    acceptedAt: record.acceptedAt,
    dueAt: record.dueAt ?? record.acceptedAt,
    caps: { ...record.caps },
    spentTokens: countSpent(record),
    ...(record.traceParent !== undefined && { traceParent: record.traceParent }),
    claimedAt: (conversation.leaseUntil ?? 0) - TURN_LIMITS.leaseMs,
    inputSeq: record.inputSeq ?? 0,
    ...(last?.seq === record.inputSeq && last && { input: last.message }),
    conversation: toConversationState(conversation),
    ...(record.context !== undefined && { hasContext: true as const }),
    steps: new Map(record.steps),
    ...waitedFor(record),
    answers: new Map(record.answers),
  };
}
