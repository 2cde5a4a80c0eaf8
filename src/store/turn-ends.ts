import type { StepState } from '../domain/conversation.ts';
import { encodeWaitingCalls, recordCalls } from '../domain/event-record.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import type { Leaving } from '../domain/message.ts';
import type { IdleTtl } from '../domain/policy.ts';
import { type AnswerEnd, TURN_LIMITS, type TurnFailure, type WaitRequest } from '../domain/turn.ts';
import { decodeStepState } from './conversation-record.ts';
import { RecordFields } from './records.ts';
import { decodeStatus, type ScriptDefinition } from './script.ts';
import { type OwnerWrite, turnLeaseArgs } from './turn-claims.ts';
import { CLOSING_ARGUMENT, type ClaimedTurn, decodeClaimedTurn, STRUCTURED } from './turn-record.ts';
import { outcomeArgs, type StepOutcome } from './turn-steps.ts';

export const suspendTurnScript: ScriptDefinition<
  [lease: TurnLease, wait: WaitRequest],
  OwnerWrite<'suspended' | 'exhausted'>
> = {
  file: 'suspend-turn',
  args: ([lease, wait]) => ({
    ...turnLeaseArgs(lease),
    kind: wait.for,
    step: wait.step,
    waitMs: wait.waitMs,
    maxSuspensions: TURN_LIMITS.maxSuspensions,
    span: wait.suspendedIn,
    passId: wait.passId,
    calls: JSON.stringify(recordCalls(wait.calls)),
    eventCalls: encodeWaitingCalls(wait.calls),
    maxMs: wait.maxMs,
    isHeld: wait.isHeld,
    rest: wait.calls.flatMap(({ id, waitMs, hash = '' }) => [id, waitMs, hash]),
  }),
  decode: decodeStatus,
};

/**
 * @param delayMs ms until the turn is due (default 0). With a delay, the caller adds no job, and the sweeper wakes the
 * turn
 */
export const releaseTurnScript: ScriptDefinition<
  [lease: TurnLease, wake: string, delayMs?: number],
  OwnerWrite<'released'>
> = {
  file: 'release-turn',
  args: ([lease, wake, delayMs = 0]) => ({ ...turnLeaseArgs(lease), wake, delayMs }),
  decode: decodeStatus,
};

type Next = [turn: string, fields: string[], input: string];
type SettleReply =
  | [
      status: 'settled' | 'known',
      hasNext: number,
      needsWake: number,
      logEnd: (string | number)[],
      conversation: string[],
      ...(Next | []),
    ]
  | [Lost['status']];

interface CompletedTurn {
  readonly state: 'completed';
  readonly answerSeq: number;
  readonly end?: AnswerEnd;
  readonly isStructured?: boolean;
}

export type TurnSettlement = IdleTtl & {
  /** Outcome of the last step, if it is not recorded yet. One write then records the step and ends the turn. */
  readonly step?: StepOutcome | undefined;
  readonly leaves?: Leaving | undefined;
} & (CompletedTurn | { readonly state: 'failed'; readonly failure: TurnFailure });

function describeAnswer({ answerSeq, end, isStructured }: Extract<TurnSettlement, { state: 'completed' }>): string {
  const note = end ?? (isStructured === true ? STRUCTURED : undefined);
  return note === undefined ? String(answerSeq) : `${answerSeq} ${note}`;
}

export type SettleResult =
  | {
      readonly status: 'settled' | 'known';
      readonly hasNext: boolean;
      readonly wake?: string;
      readonly conversation?: StepState;
      /** The next turn, if this write claimed it. */
      readonly next?: ClaimedTurn;
    }
  | Lost;

/**
 * Ends the turn. The reply is `fenced` if the turn's last step does not fit the log.
 * @param wake queue job, stored and returned if another turn follows. Undefined: the worker claims that turn at once
 */
export const settleTurnScript: ScriptDefinition<
  [lease: TurnLease, settlement: TurnSettlement, wake: string | undefined],
  SettleResult
> = {
  file: 'settle-turn',
  args: ([lease, settlement, wake]) => ({
    ...turnLeaseArgs(lease),
    state: settlement.state,
    ...(settlement.state === 'completed'
      ? { field: 'answerSeq', value: describeAnswer(settlement) }
      : { field: 'failure', value: JSON.stringify(settlement.failure) }),
    wake,
    retentionMs: TURN_LIMITS.turnRetentionMs,
    leaseMs: TURN_LIMITS.leaseMs,
    closing: CLOSING_ARGUMENT,
    ttl: settlement.conversationTtl,
    leaves: settlement.leaves && `${settlement.leaves.from} ${settlement.leaves.why}`,
    ...(settlement.step === undefined ? { outcome: '', rest: [] } : outcomeArgs(settlement.step)),
  }),
  decode: (reply, [{ conversation, owner }, , wake], keyspace) => {
    const answer = reply as SettleReply;
    if (answer.length === 1) return { status: answer[0] };
    const [status, hasNext, needsWake, logEnd, record, turn, fields, input] = answer;
    const key = keyspace.key(conversation, 'c');
    return {
      status,
      hasNext: hasNext === 1,
      ...(needsWake === 1 && wake !== undefined && { wake }),
      // `logEnd` replaces fields of the record: the record also counts the message of the next turn, if that turn was
      // claimed.
      ...(logEnd.length > 0 && {
        conversation: decodeStepState(RecordFields.ofList(key, [...record, ...logEnd])),
      }),
      ...(turn !== undefined && {
        next: decodeClaimedTurn(
          { conversation, owner, turn },
          RecordFields.ofList(keyspace.turn(conversation, turn), fields),
          RecordFields.ofList(key, record),
          input,
        ),
      }),
    };
  },
};
