import type { SystemFunction } from '../../domain/agent.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { isLost } from '../../domain/lease.ts';
import { MAX_MESSAGE_BYTES, type Message } from '../../domain/message.ts';
import { settlesSize } from '../../domain/pass.ts';
import { describeThrown } from '../../domain/thrown.ts';
import type { StepRecord } from '../../domain/turn.ts';
import { readContext } from '../../domain/turn-context.ts';
import { LostTurn } from './ending.ts';
import type { RunningTurn } from './running-turn.ts';
import { countsAsRetry } from './step-waits.ts';
import { countModelSteps, modelKey } from './turn-journal.ts';
import { type Answered, type Facts, failTurn, type TimeLimit } from './turn-states.ts';
import { undoCanceled } from './undo-canceled.ts';

/*
 * Actions of a turn before its first model step: `claimed`, `brief`, `resume`.
 */

/** Starts the timer that ends the turn for lack of time. A suspension also ends at that limit. */
export async function startLimit(run: RunningTurn): Promise<Facts['claimed']> {
  const limit = await findTimeLimit(run);
  if (limit === undefined || limit.leftMs <= 0) return { limit };
  const { leftMs, failed } = limit;
  run.limit = { until: run.ports.clock.now() + leftMs, failed };
  run.ending.limit(leftMs);
  return { limit };
}

/** Returns the time limit that ends first: the agent's timeout or the caller's deadline. Undefined if there is none. */
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

/** ms since the turn's first claim, when its user message entered the log. Both times are by the store's clock. */
async function readAge({ claimed, ports }: RunningTurn): Promise<number> {
  const { lease, attempt, steps, waited, inputSeq, claimedAt } = claimed;
  if (attempt === 1 && steps.size === 0 && waited === undefined) return 0;
  const [input] = await ports.contexts.readLog(lease.conversation, [{ from: inputSeq, to: inputSeq }]);
  return input === undefined ? 0 : claimedAt - input.at;
}

/**
 * Reads the `context` that the caller passed with the turn. If the agent's `system` is a function, calls it once per
 * turn. The store keeps the returned prompt for later claims, so a function that reads a clock cannot change the prompt
 * between two steps.
 * @throws LostTurn if the turn's lease was lost
 */
export async function briefTurn(run: RunningTurn): Promise<Facts['brief']> {
  const { claimed, prepared, ports } = run;
  const { conversation, turn } = claimed.lease;
  const { system } = prepared.agent;
  if (typeof system === 'string' && claimed.hasContext !== true) return BRIEFED;
  const briefing = await ports.turns.readBriefing(conversation, turn);
  run.turnContext = readContext(briefing.context);
  if (typeof system === 'string') return BRIEFED;
  const written = briefing.system ?? (await writeSystem(run, system));
  if (typeof written !== 'string') return { status: 'failed', why: written.why };
  const kept = await ports.turns.keepSystem(run.ending.lease, written);
  if (isLost(kept)) throw new LostTurn(kept.status);
  run.prepared = await prepared.withSystem(kept.system);
  return BRIEFED;
}

const BRIEFED = { status: 'briefed' } as const;

async function writeSystem(
  { turnContext, ending, settings }: RunningTurn,
  write: SystemFunction,
): Promise<string | { readonly why: string }> {
  let written: unknown;
  try {
    written = await ending.call(settings.stepTimeoutMs, async () => await write(structuredClone(turnContext)));
  } catch (error) {
    ending.throwIfEnded();
    return { why: `the system function threw an error: ${describeThrown(error).message}` };
  }
  if (typeof written !== 'string')
    return { why: `the system function must return text, but returned ${typeof written}` };
  const bytes = Buffer.byteLength(written);
  if (bytes > MAX_MESSAGE_BYTES)
    return { why: `the system prompt has ${bytes} bytes, but its limit is ${MAX_MESSAGE_BYTES} bytes` };
  return written;
}

/** Continues after the last recorded step. */
export async function resumeTurn(run: RunningTurn): Promise<Facts['resume']> {
  await undoCanceled(run);
  await closeWait(run);
  return { last: await readLastAnswer(run) };
}

/**
 * Records the end of a model step's wait. With this record, a repeated step knows that it has waited for this cause
 * before, and how many retries it made.
 */
async function closeWait(run: RunningTurn): Promise<void> {
  const { claimed, journal } = run;
  const { waited } = claimed;
  if (waited === undefined || waited.for === 'tools' || waited.for === 'approval') return;
  // This record is the first step that a claim writes after a wait. If the worker of another claim wrote it and died,
  // the number of steps has grown. The times of steps prove nothing, because clocks may run backwards.
  if (journal.steps.size > waited.steps) return;
  if (waited.for === 'retry') {
    if (countsAsRetry(journal.waitsOf(waited.step), waited.isHeld)) await journal.recordWait(waited.step, 'retry_due');
    return;
  }
  const hasSettled = waited.isFulfilled || (await runOverduePass(run));
  await journal.recordWait(waited.step, hasSettled ? 'pass_settled' : 'pass_unsettled');
}

/**
 * Takes over the compaction pass that did not end before the turn's deadline, and completes that pass here.
 * @returns true if the pass decided on the size of the context
 */
async function runOverduePass({ claimed, journal, ports }: RunningTurn): Promise<boolean> {
  const { conversation } = claimed.lease;
  const takeover = await ports.takeover.settleNow(conversation);
  journal.adopt(await ports.contexts.readConversation(conversation));
  return takeover.status === 'ended' && settlesSize(takeover.outcome);
}

/**
 * The turn's last recorded assistant message, which is not the final answer. Undefined if the turn has none yet, or if a
 * message behind it asks the model for a corrected answer.
 */
async function readLastAnswer({ claimed, journal, ports }: RunningTurn): Promise<Answered | undefined> {
  const count = countModelSteps(journal.steps);
  if (count === 0) return undefined;
  const step = modelKey(count);
  const record = journal.steps.get(step);
  const done = record?.status === 'done' ? record : undefined;
  // The record's first sequence number is that of the message. The results of refused calls follow.
  const seq = done?.seqs?.from;
  // The message is read from the log, because a compaction pass may have archived it.
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

/** Only a message that asks for a correction follows a complete answer without calls in the same step. */
function isRefused({ toolCalls }: Message, done: Extract<StepRecord, { status: 'done' }> | undefined): boolean {
  if (done?.seqs === undefined || done.end !== undefined || toolCalls !== undefined) return false;
  return done.seqs.to > done.seqs.from;
}
