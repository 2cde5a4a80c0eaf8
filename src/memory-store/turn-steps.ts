import type { Lost, StepOutcome, StepResult, TurnLease } from '../domain/ports/turn-store.ts';
import { isAnswerKind, TURN_LIMITS, type WaitRequest } from '../domain/turn.ts';
import { joinUsage, NO_USAGE } from '../domain/usage.ts';
import { toStepState } from './conversation-state.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';
import { appendToLog, moveCalls } from './log.ts';
import { readyEntry } from './members.ts';
import { notifyReaders } from './stream-store.ts';
import { extendLease, findOwned } from './turn-lease.ts';
import type { MemoryTurn } from './turn-record.ts';
import { emitWait, makeWait } from './waiting.ts';

export function addStep(db: MemoryDatabase, lease: TurnLease, outcome: StepOutcome): StepResult {
  const owned = findOwned(db, lease);
  if ('status' in owned) return owned;
  const { conversation, record } = owned;
  const status = recordOutcome(db, conversation, record, outcome);
  if (status === 'fenced') return { status };
  if (status === 'recorded') {
    conversation.attempts = 1;
    extendLease(db, conversation);
    dropUsedWait(conversation, record);
    notifyReaders(db, conversation, lease.turn);
  }
  return { status, conversation: toStepState(conversation) };
}

/** Records the outcome of a step of the head turn, as `lua/shared/outcome.lua` does in Redis. */
export function recordOutcome(
  db: MemoryDatabase,
  conversation: MemoryConversation,
  record: MemoryTurn,
  outcome: StepOutcome,
): 'recorded' | 'known' | 'fenced' {
  const { key, messages, usage, anchor, end } = outcome;
  if (record.steps.get(key)?.status === 'done') return 'known';
  const from = conversation.log.length + 1;
  if (outcome.expectedHead !== undefined && outcome.expectedHead !== from - 1) return 'fenced';
  moveCalls(conversation, outcome.opens, outcome.closes);
  for (const [hash, text] of outcome.fullTexts ?? [])
    if (!conversation.texts.has(hash)) conversation.texts.set(hash, text);
  const to = appendToLog(conversation, messages, db.now(), record.turn);
  const ending = end && { end };
  record.steps.set(key, { status: 'done', ...(to >= from && { seqs: { from, to }, ...ending }), at: db.now() });
  if (usage !== undefined && usage.inputTokens + usage.outputTokens > 0) {
    record.usage = joinUsage(record.usage ?? NO_USAGE, usage);
  }
  if (outcome.requestTokens !== undefined)
    record.requestTokens = [...(record.requestTokens ?? []), outcome.requestTokens];
  const { size } = toStepState(conversation);
  if (anchor !== undefined) {
    conversation.anchor = { seq: to, ...anchor, total: size.headTotal, isWhole: true };
  }
  const { answeredVersion, requestFacts } = outcome;
  if (requestFacts !== undefined) conversation.requestFacts = requestFacts;
  if (answeredVersion !== undefined) {
    conversation.answeredVersion = Math.max(answeredVersion, conversation.answeredVersion ?? 0);
  }
  return 'recorded';
}

function dropUsedWait(conversation: MemoryConversation, record: MemoryTurn): void {
  const { waiting, steps } = record;
  if (waiting === undefined || steps.get(waiting.step)?.status !== 'done') return;
  if (waiting.calls.every(({ id }) => !conversation.openCalls.has(id))) record.waiting = undefined;
}

/**
 * Counts a suspension of a step, or notes the time of its first one.
 * @returns the end of the wait within the limit. Undefined if the limit is reached
 */
function takeSuspension(
  db: MemoryDatabase,
  record: MemoryTurn,
  { step, for: kind, waitMs, maxMs }: WaitRequest,
): { readonly until?: number } | undefined {
  if (isAnswerKind(kind)) return {};
  if (maxMs !== undefined) {
    const since = record.suspendedSince.get(step) ?? db.now();
    if (db.now() - since >= maxMs) return undefined;
    record.suspendedSince.set(step, since);
    return { until: Math.min(db.now() + waitMs, since + maxMs) };
  }
  const count = record.suspensions.get(step) ?? 0;
  if (count >= TURN_LIMITS.maxSuspensions) return undefined;
  record.suspensions.set(step, count + 1);
  return {};
}

export function suspend(
  db: MemoryDatabase,
  lease: TurnLease,
  request: WaitRequest,
): { status: 'suspended' | 'exhausted' } | Lost {
  const owned = findOwned(db, lease);
  if ('status' in owned) {
    const conversation = db.find(lease.conversation);
    const record = conversation?.turnRecords.get(lease.turn);
    const isOfLease = conversation?.owner === undefined && conversation?.epoch === lease.epoch;
    const isSame = record?.state === 'waiting' && record.waiting?.step === request.step;
    return owned.status === 'fenced' && isOfLease && isSame ? { status: 'suspended' } : owned;
  }
  const { conversation, record } = owned;
  const { passId } = request;
  const waiting = makeWait(db, record, request);
  const earlier = record.waiting;
  const isForCalls = isAnswerKind(waiting.for);
  const limited = takeSuspension(db, record, request);
  if (limited === undefined) return { status: 'exhausted' };
  const haveAnswersCome = isForCalls && waiting.calls.every(({ id }) => record.answers.has(id));
  const hasPassEnded = waiting.for === 'compaction' && (!conversation.pass || conversation.pass.passId !== passId);
  const { lastEnd } = conversation;
  const isOver = hasPassEnded || haveAnswersCome;
  const isFulfilled = haveAnswersCome || (hasPassEnded && lastEnd?.passId === passId && lastEnd?.settles === true);
  record.waiting = { ...waiting, ...limited, isOver, isFulfilled };
  record.state = 'waiting';
  record.taken = undefined;
  conversation.owner = undefined;
  conversation.leaseUntil = undefined;
  conversation.attempts = 0;
  db.ready.set(readyEntry('t', conversation.ref), isOver ? db.now() : waiting.until);
  const isHeldAgain = request.isHeld === true && earlier?.isHeld === true && earlier.step === request.step;
  if (!isOver && !isHeldAgain) emitWait(db, conversation, record, request);
  notifyReaders(db, conversation, lease.turn);
  return { status: 'suspended' };
}
