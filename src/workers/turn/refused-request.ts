/**
 * Actions after turnfold's count or a provider refused a request. They make room, go back to an older version of the
 * context, or end the turn without harm to the next one.
 *
 * A turn fails as too large only if a pass could not help at this moment (I14). Messages that no model could answer
 * then leave the context, because every later turn would fail like this one. The log keeps them.
 */
import { endBefore } from '../../compaction/restore.ts';
import type { StepState } from '../../domain/conversation.ts';
import { type Leaving, NO_WEIGHT } from '../../domain/message.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { contextSize, upperBoundTokens } from '../../domain/size.ts';
import { START_VERSION, type Version, weighVersion } from '../../domain/version.ts';
import { hashSegments } from '../content-hash.ts';
import { decideStep, hasWaitedForPass, mayWaitForPass } from './step-decision.ts';
import { LostTurn } from './turn-guard.ts';
import { requestUnderLease } from './turn-passes.ts';
import type { PassNeed, Recount } from './turn-ports.ts';
import {
  type FailedEnd,
  failTurn,
  type ModelFailure,
  type RunFacts,
  type RunningTurn,
  type RunState,
} from './turn-states.ts';

/** Compacts within the turn: completes the open pass, or a new pass, without the summaries that are missing. */
export async function compactWithinTurn(
  run: RunningTurn,
  { key, need, isLastResort }: RunState<'compact'>,
): Promise<RunFacts['compact']> {
  const { journal } = run;
  await requestUnderLease(run, need);
  await run.ports.takeover.settleNow(run.guard.lease.conversation);
  await refresh(run);
  if (!isLastResort) await journal.recordWait(key, 'pass_settled');
  return { doesFit: doesFit(run), waits: journal.waitsOf(key), random: Math.random() };
}

export async function noteRefusal(
  { prepared, journal }: RunningTurn,
  { key, tokens }: RunState<'note_refusal'>,
): Promise<RunFacts['note_refusal']> {
  await journal.recordWait(key, 'size_refused');
  const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  return { need: { reasons: ['overflow'], refusedTokens }, waits: journal.waitsOf(key) };
}

/** Finds out whether a pass could make the context small enough now, before the turn fails as too large (I14). */
export async function countAgain(
  run: RunningTurn,
  { tokens, refusal }: RunState<'recount'>,
): Promise<RunFacts['recount']> {
  const { ports, guard, prepared } = run;
  if (refusal === undefined) {
    await refresh(run);
    if (doesFit(run)) return { status: 'fits' };
  }
  const refusedTokens = upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const need: PassNeed = refusal ? { reasons: ['overflow'], refusedTokens } : { reasons: ['hard_limit'] };
  const recount = await ports.takeover.recount(guard.lease.conversation, need);
  if (recount.status === 'gone') throw new LostTurn('gone');
  return { status: 'counted', recount };
}

async function refresh({ journal, ports, guard }: RunningTurn): Promise<void> {
  journal.adopt(await ports.contexts.readConversation(guard.lease.conversation));
}

function doesFit({ prepared, journal }: RunningTurn): boolean {
  return decideStep(prepared, journal.conversation, false).kind !== 'refuse';
}

/** Explains why the turn fails as too large. Its own messages leave the context if they alone are the cause. */
export async function explainTooLarge(run: RunningTurn, large: RunState<'give_up'>): Promise<RunFacts['give_up']> {
  const failed = describeTooLarge(run, large);
  const isOwn = (await isOwnTooLarge(run)) || (large.refusal !== undefined && (await leaveIfNew(run)) !== undefined);
  return { failed, leaves: isOwn ? { from: run.claimed.inputSeq, why: 'too_large' } : undefined };
}

function describeTooLarge({ prepared }: RunningTurn, { tokens, refusal, recount }: RunState<'give_up'>): FailedEnd {
  const { limits, overhead, policy } = prepared;
  const { usable, upperBoundFactor } = limits;
  const upperBound = upperBoundTokens(tokens, upperBoundFactor);
  const sizes = { tokens, fixedTokens: overhead.tokens, upperBoundFactor, upperBoundTokens: upperBound, usable };
  const details = {
    ...sizes,
    ...(recount?.status === 'too_large' && { ...recount.details, rules: recount.rules }),
    ...(refusal?.code !== undefined && { code: refusal.code }),
  };
  const sum = `system and tools ${overhead.tokens} + messages ${tokens - overhead.tokens} = ${tokens} tokens`;
  const count = `${sum}, upper bound ${upperBound} (× ${upperBoundFactor}), usable window of the model ${usable ?? 'unknown'}`;
  const why = `${count}${explainParts(recount)}${explainRefusal(refusal)}`;
  return policy.enabled
    ? failTurn('budget_infeasible', `the request is too large even after compaction: ${why}`, details)
    : failTurn('context_overflow', `the request is too large and compaction is off: ${why}`, details);
}

function explainRefusal(refusal: ModelFailure | undefined): string {
  if (refusal === undefined) return '';
  const { code, message } = refusal;
  return `. The provider refused the request as too long${code === undefined ? '' : ` (${code})`}: ${message}`;
}

function explainParts(recount: Recount | undefined): string {
  if (recount?.status !== 'too_large') return '';
  const { details, rules } = recount;
  const { fixed, pinned, open, floor, max } = details;
  const parts = `. Compaction must keep system and tools ${fixed} + pinned ${pinned} + last message and open calls ${open} + retention window ${floor} tokens, but maxTokens is ${max}`;
  return rules.length === 0 ? parts : `${parts}. A smaller context would break the rules ${rules.join(', ')}`;
}

/** Number of messages before a turn that are searched for earlier turns without an answer. */
const SEARCHED_MESSAGES = 100;

/** Finds the messages of this turn, and of canceled or failed turns directly before it, which no model has answered. */
export async function leaveUnanswered({ claimed, ports }: RunningTurn): Promise<Leaving> {
  const { inputSeq, lease } = claimed;
  const earliest = Math.max(1, inputSeq - SEARCHED_MESSAGES);
  const range = { from: earliest, to: inputSeq - 1 };
  const before = inputSeq === 1 ? [] : await ports.contexts.readLog(lease.conversation, [range]);
  let from = inputSeq;
  for (let last = before.at(-1); last?.turn !== undefined; last = before[from - earliest - 1]) {
    const { turn, message } = last;
    if (message.role === 'assistant' && message.toolCalls === undefined) break;
    const first = before.find((entry) => entry.turn === turn);
    // The start of a long turn was not read, and a turn can leave the context only as a whole.
    if (first === undefined || (first === before[0] && earliest > 1)) break;
    from = first.seq;
  }
  return { from, why: 'refused' };
}

/** As `leaveUnanswered`, but undefined if no model has accepted the other messages: the agent may be the cause. */
export async function leaveIfNew(run: RunningTurn): Promise<Leaving | undefined> {
  const { journal, context } = run;
  const { answeredVersion, head } = journal.conversation;
  const leaving = await leaveUnanswered(run);
  if (answeredVersion !== undefined) return leaving;
  const { messages } = await context.read(journal.conversation);
  return messages.length <= head - leaving.from + 1 ? leaving : undefined;
}

/** True if the messages of this turn alone exceed the window. */
async function isOwnTooLarge({ claimed, journal, ports, prepared }: RunningTurn): Promise<boolean> {
  const { inputSeq, lease } = claimed;
  const { overhead, limits } = prepared;
  const { usable, upperBoundFactor } = limits;
  const [input] = await ports.contexts.readLog(lease.conversation, [{ from: inputSeq, to: inputSeq }]);
  const before = endBefore(input);
  if (usable === undefined || before === undefined) return false;
  const { headTotal } = journal.conversation.size;
  const own = { version: START_VERSION.number, weight: NO_WEIGHT, baseTotal: before.total, headTotal };
  const fits = (tokens: number): boolean => upperBoundTokens(tokens, upperBoundFactor) <= usable;
  // If the system prompt alone exceeds the window, the turn is not the cause.
  return fits(overhead.tokens) && !fits(contextSize(own, overhead).tokens);
}

/** Marks, in `explained`, a version that replaced a refused one. A caller's rollback has no such mark. */
const VERSION_REFUSED = 'version_refused';

/** Goes back to an older version. If that version is too large and the turn may not wait for a pass, the turn fails. */
export async function rollBack(run: RunningTurn, state: RunState<'roll_back'>): Promise<RunFacts['roll_back']> {
  if (!(await replaceRefused(run, state))) return { maySend: false };
  const { journal, prepared } = run;
  const mayWait = mayWaitForPass(journal.waitsOf(state.key), 'threshold');
  return { maySend: decideStep(prepared, journal.conversation, mayWait).kind !== 'refuse' };
}

/** True if a pass or a rollback made the version, and no model has answered a request with it yet. */
export function isUnanswered({ answeredVersion }: StepState, version: number): boolean {
  return version > START_VERSION.number && (answeredVersion === undefined || answeredVersion < version);
}

/**
 * Replaces a version whose form the provider refused by its parent, and quarantines its segments. Further refusals go
 * to older versions, down to one that a model answered or no pass made. A model call that has waited for a pass may
 * wait once more. The parent is as large as the context was before that pass.
 * @returns false if the form of the version is not the cause: no pass made its segments, or a model answered them
 * @throws LostTurn if the lease was lost
 */
async function replaceRefused(
  run: RunningTurn,
  { key, version: refused, failure }: RunState<'roll_back'>,
): Promise<boolean> {
  const { ports, guard, journal } = run;
  const { conversation } = guard.lease;
  const shown = await findShown(run, await readVersion(run, refused));
  // No version newer than `answeredVersion` was answered. The search goes backwards, so it meets that version before
  // older answered versions.
  const { answeredVersion } = journal.conversation;
  const isAnswered = answeredVersion !== undefined && answeredVersion >= shown.number;
  if (shown.cause !== 'pass' || isAnswered) return false;
  const version = copyOlder(run, refused, await readVersion(run, shown.parent));
  guard.signal.throwIfAborted();
  // The wait is recorded before the rollback. A crash between the two leaves one wait too many. In the other order, a
  // crash would fail the turn.
  if (hasWaitedForPass(journal.waitsOf(key))) await journal.recordWait(key, 'rolled_back');
  const rollback = {
    expectedVersion: refused,
    shownVersion: shown.number,
    version,
    refusedSegments: hashSegments(shown.segments),
    keepVersions: PASS_LIMITS.keepVersions,
  };
  const result = await guard.write('rollback', () => ports.turns.rollBackVersion(guard.lease, rollback));

  if (result.status === 'answered') return false;
  if (result.status === 'version_changed') {
    journal.adopt(await ports.contexts.readConversation(conversation));
    return true;
  }
  journal.adopt(result.conversation);
  ports.onEvent({
    type: 'version_refused',
    by: 'provider',
    ...guard.scope,
    version: refused,
    codes: failure.code === undefined ? [] : [failure.code],
    message: failure.message,
    ...(failure.form === undefined ? {} : { form: failure.form }),
  });
  return true;
}

/** A version that the store dropped counts as the full log. */
async function readVersion({ ports, guard }: RunningTurn, number: number | null): Promise<Version> {
  const version = number === null ? undefined : await ports.contexts.readVersion(guard.lease.conversation, number);
  return version ?? START_VERSION;
}

/** If a rollback copied the segments of this version from an older version, finds that older version. */
async function findShown(run: RunningTurn, version: Version): Promise<Version> {
  if (version.cause !== 'rollback' || !version.explained.includes(VERSION_REFUSED)) return version;
  const refused = await findShown(run, await readVersion(run, version.parent));
  return findShown(run, await readVersion(run, refused.parent));
}

function copyOlder({ ports, journal, prepared }: RunningTurn, refused: number, shown: Version): Version {
  const { baseTotal } = shown;
  const weight = weighVersion(shown);
  const { size, head } = journal.conversation;
  const before = contextSize(size, prepared.overhead);
  const after = contextSize({ version: refused + 1, weight, baseTotal, headTotal: size.headTotal }, prepared.overhead);
  return {
    ...shown,
    number: refused + 1,
    parent: refused,
    cause: 'rollback',
    reasons: [],
    strategy: 'none',
    measuredAt: { head, ...after },
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    archived: 0,
    explained: [VERSION_REFUSED],
    floorRelaxed: false,
    at: ports.clock.now(),
    durationMs: 0,
    model: null,
  };
}
