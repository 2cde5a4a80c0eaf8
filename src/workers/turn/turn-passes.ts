/** The three places where a turn requests a compaction pass: before it waits, beside its model call, and at its end. */
import type { Message } from '../../domain/message.ts';
import type { PassIntake } from '../../store/passes.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import { reportBackoff, requestPass, waitsForAnswer } from '../pass-request.ts';
import { decideTurnEnd, type SoftPass } from './step-decision.ts';
import { LostTurn } from './turn-guard.ts';
import type { PassNeed } from './turn-ports.ts';
import type { RunningTurn } from './turn-states.ts';

/**
 * @returns id of the pass
 * @throws LostTurn if the lease was lost, or the conversation was erased
 */
export async function requestUnderLease({ guard, ports, prepared }: RunningTurn, need: PassNeed): Promise<string> {
  guard.signal.throwIfAborted();
  const { calibration } = prepared.overhead;
  const passes: PassIntake = {
    requestPass: (request) => guard.write('request', () => ports.passes.requestPass(request)),
  };
  const answer = await requestPass({ ...ports, passes }, guard.lease.conversation, { ...need, calibration });
  if (answer.status === 'gone') throw new LostTurn('gone');
  return answer.passId;
}

/**
 * Requests a pass that runs while the turn continues. While a model thinks between tool calls, a pass could do nothing,
 * so the end of the turn requests it.
 */
export async function requestSoftPass(
  run: RunningTurn,
  { reasons, backoff }: SoftPass,
  messages: readonly Message[],
): Promise<void> {
  const cause = reasons.length > 0 && waitsForAnswer(reasons, messages) ? 'thinking' : backoff;
  if (cause !== undefined) reportBackoff(run.ports, run.guard.lease.conversation, cause);
  else if (reasons.length > 0) await requestUnderLease(run, { reasons });
}

/**
 * Requests a pass if a threshold is met. After a crash before this, the next turn's threshold check requests it.
 * @returns the next turn, whose state was read before the pass was requested, with the id of that pass
 */
export async function requestPassAfter(
  { claimed, lasting, journal, ports }: RunningTurn,
  next: ClaimedTurn | undefined,
): Promise<ClaimedTurn | undefined> {
  const { conversation } = claimed.lease;
  const { calibration } = lasting.overhead;
  const { reasons, backoff } = decideTurnEnd(lasting, journal.conversation);
  if (backoff !== undefined) reportBackoff(ports, conversation, backoff);
  if (reasons.length === 0) return next;
  const answer = await requestPass(ports, conversation, { reasons, calibration });
  if (next === undefined || answer.status === 'gone') return next;
  return { ...next, conversation: { ...next.conversation, passId: answer.passId } };
}
