import { TurnfoldError } from '../../domain/errors.ts';
import { settlesSize } from '../../domain/pass.ts';
import { type Answered, takeModelStep } from './model-step.ts';
import type { RunningTurn } from './running-turn.ts';
import { countModelSteps, modelKey, nextUnsettledMark, nextWaitMark } from './step-keys.ts';
import { takeToolSteps } from './tool-round.ts';
import type { TurnEnd } from './turn-end.ts';

/**
 * Works on a claimed turn until it is to be settled or suspended: model → tools → model …, from wherever its record says it
 * stands. A first run and a resumed one take the same path.
 * @throws LostTurn
 */
export async function runTurn(run: RunningTurn): Promise<TurnEnd> {
  await closeWait(run);
  let last = await readLastAnswer(run);
  for (;;) {
    if (last !== undefined) {
      const { message, seq, end } = last;
      if (message.toolCalls === undefined) return { kind: 'completed', answerSeq: seq, end };
      const stopped = await takeToolSteps(run, last);
      if (stopped !== undefined) return stopped;
    }
    const next = await takeModelStep(run);
    if (next.kind !== 'answered') return next;
    last = next;
  }
}

/** Waits of a model step leave a mark: it waits once for each cause of a pass, and each retry waits longer. */
async function closeWait({ claimed, journal, ports }: RunningTurn): Promise<void> {
  const { waited, lease } = claimed;
  if (waited === undefined || waited.for === 'tools' || waited.for === 'approval') return;
  // The first step that a claim writes after a wait is its mark. A claim whose worker died has marked this wait: one wait is
  // not two. The count of steps says so; times of steps do not, because the clock may run back.
  if (journal.steps.size > waited.steps) return;
  if (waited.for === 'compaction' && !waited.isFulfilled) {
    const outcome = await ports.takeover.settleNow(lease.conversation);
    journal.adopt(await ports.contexts.readConversation(lease.conversation));
    // I13: a pass that settled nothing was no wait. The step asks for another pass if it still needs one.
    if (outcome === undefined || !settlesSize(outcome)) {
      await journal.start([nextUnsettledMark(journal.steps, waited.step)]);
      return;
    }
  }
  await journal.start([nextWaitMark(journal.steps, waited.for, waited.step)]);
}

/** The assistant message that the turn stands at; undefined before its first. */
async function readLastAnswer({ claimed, journal, ports }: RunningTurn): Promise<Answered | undefined> {
  const count = countModelSteps(journal.steps);
  if (count === 0) return undefined;
  const step = modelKey(count);
  const record = journal.steps.get(step);
  const done = record?.status === 'done' ? record : undefined;
  // Behind it stand the results of calls that were refused at once.
  const seq = done?.seqs?.from;
  // From the log, not from the context: a pass that ran meanwhile may have archived it.
  const [entry] =
    seq === undefined ? [] : await ports.contexts.readLog(claimed.lease.conversation, [{ from: seq, to: seq }]);
  if (entry === undefined) {
    throw new TurnfoldError('not_found', `the answer of ${step} is not in the log`, { details: { step, seq } });
  }
  return { kind: 'answered', step, seq: entry.seq, message: entry.message, end: done?.end };
}
