import type { RunningTurn } from './running-turn.ts';
import { StepTimeout } from './step-deadline.ts';
import { failTurn, type TurnEnd } from './turn-end.ts';

/** A step that took longer than its whole turn may: no outcome of it is recorded, the turn is settled. */
class TurnTimeout extends StepTimeout {}

/**
 * Works on a turn for as long as its agent's `turnTimeoutMs` leaves it. A wait ends with that time at the latest: the claim
 * behind it finds none left, and the turn fails without another step.
 * @throws what the work throws
 */
export async function runInTime(run: RunningTurn, work: (run: RunningTurn) => Promise<TurnEnd>): Promise<TurnEnd> {
  const { prepared, ports, keeper } = run;
  const { turnTimeoutMs } = prepared.agent;
  if (turnTimeoutMs === undefined) return await work(run);
  const failed = failTurn('turn_timeout', `not done within ${turnTimeoutMs} ms`, { turnTimeoutMs });
  const leftMs = turnTimeoutMs - (await readAge(run));
  if (leftMs <= 0) return failed;
  const until = ports.clock.now() + leftMs;
  const timeout = ports.timers.after(leftMs, () => keeper.abort(new TurnTimeout(leftMs)));
  try {
    return shortenWait(await work(run), until - ports.clock.now());
  } catch (error) {
    if (error instanceof TurnTimeout) return failed;
    throw error;
  } finally {
    timeout.stop();
  }
}

/** Ms from the turn's first claim, when its user message entered the log, to the present one. Both by the store's clock. */
async function readAge({ claimed, ports }: RunningTurn): Promise<number> {
  const { lease, attempt, steps, waited, inputSeq, claimedAt } = claimed;
  if (attempt === 1 && steps.size === 0 && waited === undefined) return 0;
  const [input] = await ports.contexts.readLog(lease.conversation, [{ from: inputSeq, to: inputSeq }]);
  return input === undefined ? 0 : claimedAt - input.at;
}

function shortenWait(end: TurnEnd, leftMs: number): TurnEnd {
  if (end.kind !== 'suspended') return end;
  const { wait } = end;
  const shorten = (waitMs: number): number => Math.max(0, Math.min(waitMs, leftMs));
  const calls = wait.calls.map((call) => ({ ...call, waitMs: shorten(call.waitMs) }));
  return { ...end, wait: { ...wait, waitMs: shorten(wait.waitMs), calls } };
}
