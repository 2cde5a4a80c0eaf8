import { isDeepStrictEqual } from 'node:util';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type {
  ClaimedTurn,
  ClaimResult,
  Lost,
  RollbackResult,
  SettleResult,
  StepOutcome,
  StepResult,
  TurnIntake,
  TurnLease,
  TurnSettlement,
  TurnStore,
  VersionRollback,
} from '../../../src/domain/ports/turn-store.ts';
import { isAnswerKind, isSettled, TURN_LIMITS, type WaitRequest } from '../../../src/domain/turn.ts';
import { readyMember } from '../../../src/store/keys.ts';
import { POISON_FAILURE } from '../../../src/store/turn-steps.ts';
import { checkNumber } from '../../../src/store/version-record.ts';
import {
  type MemoryConversation,
  type MemoryDatabase,
  type MemoryTurn,
  toConversationState,
  toStepState,
} from './database.ts';
import { appendToLog, closeOpenCalls, moveCalls } from './log.ts';
import { headTurn, isRecorded, popHead, raiseEpoch, settleRecord, wakeTurn } from './mailbox.ts';
import { dropProposal } from './proposal-store.ts';
import { putVersion } from './put-version.ts';
import { openMemoryTurnIntake } from './turn-intake.ts';
import { makeWait, tellWait } from './waiting.ts';

/** Turns in memory: the same answers as Redis, by the same contract suite. */
export function openMemoryTurnStore(db: MemoryDatabase): TurnStore & TurnIntake {
  return {
    ...openMemoryTurnIntake(db),
    claim: async (ref, owner, wake) => claim(db, ref, owner, wake),
    startSteps: async (lease, keys) => {
      const held = hold(db, lease);
      if ('status' in held) return held;
      for (const key of keys) {
        if (!held.record.steps.has(key)) held.record.steps.set(key, { status: 'started', at: db.now() });
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
      const held = hold(db, lease);
      if ('status' in held) return held;
      const { conversation } = held;
      if (conversation.system?.turn !== lease.turn) conversation.system = { turn: lease.turn, text };
      return { status: 'kept', system: conversation.system?.text ?? text };
    },
    recordStep: async (lease, outcome) => recordStep(db, lease, outcome),
    suspend: async (lease, wait) => suspend(db, lease, wait),
    heartbeat: async (lease) => {
      const held = hold(db, lease);
      if ('status' in held) return held;
      extendLease(db, held.conversation);
      return { status: 'held' };
    },
    release: async (lease, wake) => release(db, lease, wake),
    startAlone: async (lease) => {
      const held = hold(db, lease);
      if ('status' in held) return held;
      held.conversation.isAlone = true;
      return { status: 'recorded' };
    },
    rollBackVersion: async (lease, rollback) => rollBackVersion(db, lease, rollback),
    settle: async (lease, settlement, wake) => settle(db, lease, settlement, wake),
  };
}

function claim(db: MemoryDatabase, ref: ConversationRef, owner: string, wake: string): ClaimResult {
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  if (conversation?.poisoned?.wake === wake) {
    const { turn } = conversation.poisoned;
    return { status: 'poison', turn, ...(isRecorded(conversation, wake) && { wake }) };
  }
  const record = conversation && headTurn(conversation);
  if (conversation === undefined || record === undefined) {
    db.ready.delete(readyMember('t', ref));
    return { status: 'empty' };
  }
  const leaseUntil = conversation.leaseUntil ?? 0;
  if (leaseUntil > db.now()) {
    if (conversation.owner === owner) return { status: 'claimed', turn: claimedTurn(conversation, record) };
    return { status: 'held', untilMs: leaseUntil };
  }
  const { waiting } = record;
  if (record.state === 'waiting' && waiting && !waiting.isOver && waiting.until > db.now()) {
    db.ready.set(readyMember('t', ref), waiting.until);
    return { status: 'waiting', untilMs: waiting.until };
  }
  const isLast = conversation.attempts >= TURN_LIMITS.maxAttempts;
  if (isLast && conversation.isAlone === true) return poison(db, conversation, record, wake);
  return { status: 'claimed', turn: takeHead(db, conversation, record, owner) };
}

/** As lua/shared/take-head.lua. */
function takeHead(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  record: MemoryTurn,
  owner: string,
): ClaimedTurn {
  raiseEpoch(db, conversation);
  conversation.attempts = Math.min(conversation.attempts + 1, TURN_LIMITS.maxAttempts);
  conversation.isAlone = false;
  conversation.owner = owner;
  conversation.poisoned = undefined;
  db.sweeps.delete(readyMember('t', conversation.ref));
  extendLease(db, conversation);
  const { input } = record;
  if (input !== undefined) {
    closeOpenCalls(conversation, record.turn, db.now());
    record.inputSeq = appendToLog(conversation, [input], db.now(), record.turn);
    record.input = undefined;
  }
  record.state = 'running';
  record.taken ??= owner;
  return claimedTurn(conversation, record);
}

function poison(db: MemoryDatabase, conversation: MemoryConversation, record: MemoryTurn, wake: string): ClaimResult {
  const { turn } = record;
  closeOpenCalls(conversation, turn, db.now());
  settleRecord(db, conversation, record, { state: 'failed', failure: POISON_FAILURE });
  raiseEpoch(db, conversation);
  conversation.poisoned = { wake, turn };
  return { status: 'poison', turn, ...(popHead(db, conversation, wake) && { wake }) };
}

function recordStep(db: MemoryDatabase, lease: TurnLease, outcome: StepOutcome): StepResult {
  const held = hold(db, lease);
  if ('status' in held) return held;
  const { conversation, record } = held;
  const { key, messages, usage, anchor, end } = outcome;
  if (record.steps.get(key)?.status === 'done') {
    return { status: 'known', conversation: toStepState(conversation) };
  }
  const from = conversation.log.length + 1;
  if (outcome.expectedHead !== undefined && outcome.expectedHead !== from - 1) return { status: 'fenced' };
  moveCalls(conversation, outcome.opens, outcome.closes);
  for (const [hash, text] of outcome.texts ?? []) if (!conversation.texts.has(hash)) conversation.texts.set(hash, text);
  const to = appendToLog(conversation, messages, db.now(), lease.turn);
  const ending = end && { end };
  record.steps.set(key, { status: 'done', ...(to >= from && { seqs: { from, to }, ...ending }), at: db.now() });
  if (usage !== undefined && usage.inputTokens + usage.outputTokens > 0) {
    record.usage = {
      inputTokens: (record.usage?.inputTokens ?? 0) + usage.inputTokens,
      outputTokens: (record.usage?.outputTokens ?? 0) + usage.outputTokens,
    };
  }
  if (outcome.requestTokens !== undefined)
    record.requestTokens = [...(record.requestTokens ?? []), outcome.requestTokens];
  const { size } = toStepState(conversation);
  if (anchor !== undefined) {
    conversation.anchor = { seq: to, ...anchor, total: size.headTotal, isWhole: true };
  }
  const { answeredVersion } = outcome;
  if (answeredVersion !== undefined) {
    conversation.answeredVersion = Math.max(answeredVersion, conversation.answeredVersion ?? 0);
  }
  conversation.attempts = 1;
  extendLease(db, conversation);
  dropUsedWait(conversation, record);
  return { status: 'recorded', conversation: toStepState(conversation) };
}

function dropUsedWait(conversation: MemoryConversation, record: MemoryTurn): void {
  const { waiting, steps } = record;
  if (waiting === undefined || steps.get(waiting.step)?.status !== 'done') return;
  if (waiting.calls.every(({ id }) => !conversation.openCalls.has(id))) record.waiting = undefined;
}

function suspend(
  db: MemoryDatabase,
  lease: TurnLease,
  request: WaitRequest,
): { status: 'suspended' | 'exhausted' } | Lost {
  const held = hold(db, lease);
  if ('status' in held) {
    const conversation = db.find(lease.conversation);
    const record = conversation?.turnRecords.get(lease.turn);
    const hasStood = conversation?.owner === undefined && conversation?.epoch === lease.epoch;
    const isSame = record?.state === 'waiting' && record.waiting?.step === request.step;
    return held.status === 'fenced' && hasStood && isSame ? { status: 'suspended' } : held;
  }
  const { conversation, record } = held;
  const { passId } = request;
  const waiting = makeWait(db, record, request);
  const count = (record.suspensions.get(waiting.step) ?? 0) + 1;
  const isForCalls = isAnswerKind(waiting.for);
  if (!isForCalls && count > TURN_LIMITS.maxSuspensions) return { status: 'exhausted' };
  const haveAnswersCome = isForCalls && waiting.calls.every(({ id }) => record.answers.has(id));
  const hasPassEnded = waiting.for === 'compaction' && (!conversation.pass || conversation.pass.passId !== passId);
  const { lastEnd } = conversation;
  const isOver = hasPassEnded || haveAnswersCome;
  const isFulfilled = haveAnswersCome || (hasPassEnded && lastEnd?.passId === passId && lastEnd?.settles === true);
  if (!isForCalls) record.suspensions.set(waiting.step, count);
  record.waiting = { ...waiting, isOver, isFulfilled };
  record.state = 'waiting';
  record.taken = undefined;
  conversation.owner = undefined;
  conversation.leaseUntil = undefined;
  conversation.attempts = 0;
  db.ready.set(readyMember('t', conversation.ref), isOver ? db.now() : waiting.until);
  if (!isOver) tellWait(db, conversation, record, request);
  return { status: 'suspended' };
}

/** As lua/release-turn.lua. */
function release(db: MemoryDatabase, lease: TurnLease, wake: string): { readonly status: 'released' } | Lost {
  const held = hold(db, lease);
  if ('status' in held) {
    const conversation = db.find(lease.conversation);
    const isReleased = conversation?.owner === undefined && conversation?.epoch === lease.epoch;
    return held.status === 'fenced' && isReleased && isRecorded(conversation, wake) ? { status: 'released' } : held;
  }
  const { conversation, record } = held;
  record.state = 'queued';
  conversation.attempts = Math.max(conversation.attempts - 1, 0);
  conversation.owner = undefined;
  conversation.leaseUntil = undefined;
  wakeTurn(db, conversation, wake);
  db.ready.set(readyMember('t', conversation.ref), db.now());
  return { status: 'released' };
}

function rollBackVersion(db: MemoryDatabase, lease: TurnLease, rollback: VersionRollback): RollbackResult {
  checkNumber(rollback);
  const held = hold(db, lease);
  if ('status' in held) return held;
  const { conversation } = held;
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
    if (pass.owner === undefined) db.ready.set(readyMember('p', conversation.ref), db.now());
  }
  conversation.quarantine = { version: version.number, segments: refusedSegments };
  putVersion(db, conversation, version, keepVersions);
  return { status: 'rolled_back', conversation: toConversationState(conversation) };
}

function settle(
  db: MemoryDatabase,
  lease: TurnLease,
  settlement: TurnSettlement,
  wake: string | undefined,
): SettleResult {
  if (db.isGone(lease.conversation)) return { status: 'gone' };
  const conversation = db.find(lease.conversation);
  const known = conversation?.turnRecords.get(lease.turn);
  if (conversation !== undefined && known !== undefined && isSettled(known.state) && known.state !== 'canceled') {
    const hasNext = conversation.mailbox.length > 0;
    const next = headTurn(conversation);
    const isTaken = conversation.owner === lease.owner && (conversation.leaseUntil ?? 0) > db.now();
    return {
      status: 'known',
      hasNext,
      ...(isRecorded(conversation, wake) && { wake }),
      ...(wake === undefined && next && isTaken && { next: claimedTurn(conversation, next) }),
    };
  }
  const held = hold(db, lease);
  if ('status' in held) return held;
  if (settlement.state === 'failed') {
    closeOpenCalls(held.conversation, lease.turn, db.now());
    raiseEpoch(db, held.conversation);
  }
  settleRecord(db, held.conversation, held.record, settlement);
  const hasNext = popHead(db, held.conversation, wake);
  const next = headTurn(held.conversation);
  if (next === undefined || wake !== undefined) {
    return { status: 'settled', hasNext, ...(hasNext && wake !== undefined && { wake }) };
  }
  return { status: 'settled', hasNext, next: takeHead(db, held.conversation, next, lease.owner) };
}

function waitedFor({
  isOver: _isOver,
  ...waited
}: NonNullable<MemoryTurn['waiting']>): NonNullable<ClaimedTurn['waited']> {
  return waited;
}

/** As lua/shared/fence.lua: what the lease is for, or how it was lost. */
function hold(db: MemoryDatabase, lease: TurnLease): { conversation: MemoryConversation; record: MemoryTurn } | Lost {
  if (db.isGone(lease.conversation)) return { status: 'gone' };
  const conversation = db.find(lease.conversation);
  const record = conversation && headTurn(conversation);
  if (record?.turn !== lease.turn || conversation?.owner !== lease.owner || conversation.epoch !== lease.epoch) {
    return { status: conversation?.turnRecords.get(lease.turn)?.state === 'canceled' ? 'canceled' : 'fenced' };
  }
  return { conversation, record };
}

function extendLease(db: MemoryDatabase, conversation: MemoryConversation): void {
  conversation.leaseUntil = db.now() + TURN_LIMITS.leaseMs;
  db.ready.set(readyMember('t', conversation.ref), conversation.leaseUntil);
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
    ...(record.askedIn !== undefined && { askedIn: record.askedIn }),
    claimedAt: (conversation.leaseUntil ?? 0) - TURN_LIMITS.leaseMs,
    inputSeq: record.inputSeq ?? 0,
    ...(last?.seq === record.inputSeq && last && { input: last.message }),
    conversation: toConversationState(conversation),
    ...(record.context !== undefined && { hasContext: true as const }),
    steps: new Map(record.steps),
    ...(record.waiting && { waited: waitedFor(record.waiting) }),
    answers: new Map(record.answers),
  };
}
