import {
  endBefore,
  evictNewer,
  findVersionBefore,
  keepBetween,
  type LogEnd,
  restoreVersion,
  weighOutside,
} from '../../compaction/restore.ts';
import { type LeftRange, NO_BACKOFF } from '../../domain/conversation.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { type TurnLease } from '../../domain/lease.ts';
import { type LeaveCause, type Message } from '../../domain/message.ts';
import { PASS_LIMITS, settlesSize } from '../../domain/pass.ts';
import type { StepRecord } from '../../domain/turn.ts';
import { type Segment, type SeqRange, START_VERSION } from '../../domain/version.ts';
import type { TurnUndo } from '../../store/turn-changes.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { countsAsRetry } from './step-decision.ts';
import { LostTurn } from './turn-guard.ts';
import { countSteps, MODEL_STEP, modelKey } from './turn-journal.ts';
import type { TurnPorts } from './turn-ports.ts';
import { type Answered, failTurn, type RunFacts, type RunningTurn, type TimeLimit } from './turn-states.ts';

export async function startLimit(run: RunningTurn): Promise<RunFacts['claimed']> {
  const limit = await findTimeLimit(run);
  if (limit === undefined || limit.leftMs <= 0) return { limit };
  const { leftMs, failed } = limit;
  run.limit = { until: run.ports.clock.now() + leftMs, failed };
  run.guard.limit(leftMs);
  return { limit };
}

/** Time limit of the turn: the earlier one of the agent's timeout and the caller's deadline. */
async function findTimeLimit(run: RunningTurn): Promise<TimeLimit | undefined> {
  const { turnTimeoutMs } = run.prepared.agent;
  const { caps, dueAt, claimedAt } = run.claimed;
  const { deadlineMs } = caps;
  const timeout = turnTimeoutMs !== undefined && {
    leftMs: turnTimeoutMs - (await readAge(run)),
    failed: failTurn('turn_timeout', `the turn was not finished within its timeout of ${turnTimeoutMs} ms`, {
      turnTimeoutMs,
    }),
  };
  const deadline = deadlineMs !== undefined && {
    leftMs: dueAt + deadlineMs - claimedAt,
    failed: failTurn('turn_timeout', `the turn was not finished within its deadline of ${deadlineMs} ms`, {
      deadlineMs,
    }),
  };
  if (timeout && deadline) return timeout.leftMs <= deadline.leftMs ? timeout : deadline;
  return timeout || deadline || undefined;
}

/** ms since the first claim, when the user message entered the log. Both times are by the store's clock. */
async function readAge({ claimed, ports }: RunningTurn): Promise<number> {
  const { lease, isFirstClaim, steps, waited, inputSeq, claimedAt } = claimed;
  if (isFirstClaim && steps.size === 0 && waited === undefined) return 0;
  const [input] = await ports.contexts.readLog(lease.conversation, [{ from: inputSeq, to: inputSeq }]);
  return input === undefined ? 0 : claimedAt - input.at;
}

export async function catchUp(run: RunningTurn): Promise<RunFacts['catch_up']> {
  const { conversation, waited } = run.claimed;
  if (conversation.undo !== undefined) await undoCanceled(run, conversation.undo);
  if (waited !== undefined) await closeWait(run, waited);
  return { last: await readLastAnswer(run) };
}

/** Records the end of a wait, so that a repeated model call knows its earlier waits and retries. */
async function closeWait(run: RunningTurn, waited: NonNullable<ClaimedTurn['waited']>): Promise<void> {
  const { journal } = run;
  if (waited.for === 'tools' || waited.for === 'approval') return;
  // The first claim after a wait writes this record before any other. If there are more records than before the wait,
  // an earlier claim wrote it and died. Times prove nothing, because clocks may run backwards.
  if (journal.steps.size > waited.steps) return;
  if (waited.for === 'retry') {
    if (countsAsRetry(journal.waitsOf(waited.step), waited.isHeld)) await journal.recordWait(waited.step, 'retry_due');
    return;
  }
  const hasSettled = waited.isFulfilled || (await runOverduePass(run));
  await journal.recordWait(waited.step, hasSettled ? 'pass_settled' : 'pass_unsettled');
}

/** Completes an overdue pass. @returns true if the pass decided on the size of the context */
async function runOverduePass({ claimed, journal, ports }: RunningTurn): Promise<boolean> {
  const { conversation } = claimed.lease;
  const takeover = await ports.takeover.settleNow(conversation);
  journal.adopt(await ports.contexts.readConversation(conversation));
  return takeover.status === 'ended' && settlesSize(takeover.outcome);
}

/** The last assistant message of the turn. Undefined without one, or if a later message asks for a correction. */
async function readLastAnswer({ claimed, journal, ports }: RunningTurn): Promise<Answered | undefined> {
  const count = countSteps(journal.steps, MODEL_STEP);
  if (count === 0) return undefined;
  const step = modelKey(count);
  const record = journal.steps.get(step);
  const done = record?.status === 'done' ? record : undefined;
  // The seqs begin with the assistant message. The results of refused calls follow.
  const seq = done?.seqs?.from;
  // The log has the message even if a pass has archived the message.
  const [entry] =
    seq === undefined ? [] : await ports.contexts.readLog(claimed.lease.conversation, [{ from: seq, to: seq }]);
  if (entry === undefined) {
    throw new TurnfoldError('not_found', `the log has no message of model step ${step}, which is recorded as done`, {
      details: { step, seq },
    });
  }
  const { message } = entry;
  return isRefused(message, done) ? undefined : { key: step, seq: entry.seq, message, end: done?.end };
}

/** True if a message behind the answer asks for a correction. No other message follows an answer without calls. */
function isRefused({ toolCalls }: Message, done: Extract<StepRecord, { status: 'done' }> | undefined): boolean {
  if (done?.seqs === undefined || done.end !== undefined || toolCalls !== undefined) return false;
  return done.seqs.to > done.seqs.from;
}

/** Restores the context version from before the canceled turns, so that their messages leave the context. */
async function undoCanceled(run: RunningTurn, undo: readonly SeqRange[]): Promise<void> {
  const { claimed, journal, ports, guard } = run;
  const { left = [] } = claimed.conversation;
  for (;;) {
    const { version } = journal.conversation.size;
    const made = await makeUndo(ports, guard.lease.conversation, { version, undo, left });
    const result = await guard.write('rollback', () => ports.turns.undoTurns(guard.lease, made));
    if (result.status !== 'version_changed') return journal.adopt(result.conversation);
    journal.adopt(await ports.contexts.readConversation(guard.lease.conversation));
  }
}

type UndoPorts = Pick<TurnPorts, 'turns' | 'contexts' | 'clock'>;

/** Removes the messages of settled turns from the context, so that readers see at once what the next turn will see. */
export async function undoSettled(ports: UndoPorts, lease: TurnLease): Promise<void> {
  const state = await ports.contexts.readConversation(lease.conversation);
  if (state?.undo === undefined) return;
  const { undo, left = [], size } = state;
  await ports.turns.undoTurns(lease, await makeUndo(ports, lease.conversation, { version: size.version, undo, left }));
}

interface LeavingTurns {
  readonly version: number;
  readonly undo: readonly SeqRange[];
  readonly left: readonly LeftRange[];
}

async function makeUndo(
  ports: UndoPorts,
  conversation: ConversationRef,
  { version: expectedVersion, undo, left }: LeavingTurns,
): Promise<TurnUndo> {
  const versions = await ports.contexts.listVersions(conversation);
  const live = versions.find(({ number }) => number === expectedVersion) ?? START_VERSION;
  // If that version no longer exists, the whole log is shown. The next pass makes the context smaller.
  const target = findVersionBefore(versions, undo[0]?.from ?? 1) ?? START_VERSION;
  const newer: Segment[] = [];
  let end: LogEnd = { head: target.base, total: target.baseTotal };
  const keepUntil = (next: LogEnd): void => {
    newer.push(...keepBetween(end, next));
    if (next.head > end.head) end = next;
  };
  for (const { from, to } of undo) {
    const entries = await ports.contexts.readLog(conversation, [{ from, to }]);
    const [before, last] = [endBefore(entries[0]), entries.at(-1)];
    if (before === undefined || last?.seq !== to) throw await missingEntries(ports, conversation, { from, to });
    keepUntil(before);
    newer.push(...(await eventLoopShare.run(evictNewer(entries))));
    end = { head: to, total: last.total };
  }
  // A pass may have committed a version over later messages. These messages are shown as the log has them.
  keepUntil({ head: live.base, total: live.baseTotal });
  const outside = weighOutside(versions);
  const explained = [...new Set(undo.map(({ from }) => `turn_${findCause(left, from)}`))];
  const parts = { cause: 'rollback', live, target, newer, log: end, outside, explained } as const;
  const version = restoreVersion({ ...parts, now: ports.clock.now() });
  const noGainBelowTokens = Math.ceil(version.tokensAfter * PASS_LIMITS.backoffGrowth);
  const backoff = { ...NO_BACKOFF, noGainBelowTokens };
  return { expectedVersion, version, backoff, keepVersions: PASS_LIMITS.keepVersions };
}

/** Finds why messages left the context. Earlier releases recorded no cause, and only a rollback made turns leave. */
function findCause(left: readonly LeftRange[], from: number): LeaveCause {
  return left.findLast((range) => range.from === from)?.why ?? 'rolled_back';
}

/** Explains missing log entries. An erase may have removed the log meanwhile. Otherwise the log is damaged. */
async function missingEntries(
  { contexts }: UndoPorts,
  conversation: ConversationRef,
  { from, to }: SeqRange,
): Promise<Error> {
  const { undo = [] } = (await contexts.readConversation(conversation)) ?? {};
  if (!undo.some((range) => range.from === from)) return new LostTurn('gone');
  const why = `the log does not hold messages ${from} to ${to} of a turn that left the context`;
  return new TurnfoldError('not_found', why, { details: { from, to } });
}
