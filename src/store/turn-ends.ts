import { encodeWaitingCalls, recordCalls } from '../domain/event-record.ts';
import type { Lost, TurnSettlement, TurnStore } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import { decodeStepState } from './conversation-record.ts';
import { RecordFields } from './records.ts';
import { decodeStatus, type ScriptOf } from './script.ts';
import { closingArgs, decodeClaimedTurn, STRUCTURED } from './turn-record.ts';
import { outcomeArgs, turnLeaseArgs } from './turn-steps.ts';

export const suspendTurnScript: ScriptOf<TurnStore['suspend']> = {
  file: 'suspend-turn',
  args: ([lease, wait]) => [
    ...turnLeaseArgs(lease),
    wait.for,
    wait.step,
    wait.waitMs,
    TURN_LIMITS.maxSuspensions,
    wait.suspendedIn ?? '',
    wait.passId ?? '',
    JSON.stringify(recordCalls(wait.calls)),
    encodeWaitingCalls(wait.calls),
    wait.maxMs ?? '',
    wait.isHeld === true ? 1 : '',
    ...wait.calls.flatMap(({ id, waitMs, hash = '' }) => [id, waitMs, hash]),
  ],
  decode: decodeStatus,
};

export const releaseTurnScript: ScriptOf<TurnStore['release']> = {
  file: 'release-turn',
  args: ([lease, wake, delayMs = 0]) => [...turnLeaseArgs(lease), wake, delayMs],
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

function describeAnswer({ answerSeq, end, isStructured }: Extract<TurnSettlement, { state: 'completed' }>): string {
  const note = end ?? (isStructured === true ? STRUCTURED : undefined);
  return note === undefined ? String(answerSeq) : `${answerSeq} ${note}`;
}

export const settleTurnScript: ScriptOf<TurnStore['settle']> = {
  file: 'settle-turn',
  args: ([lease, settlement, wake]) => [
    ...turnLeaseArgs(lease),
    settlement.state,
    ...(settlement.state === 'completed'
      ? ['answerSeq', describeAnswer(settlement)]
      : ['failure', JSON.stringify(settlement.failure)]),
    wake ?? '',
    TURN_LIMITS.turnRetentionMs,
    TURN_LIMITS.leaseMs,
    ...closingArgs(),
    settlement.conversationTtl ?? '',
    settlement.leaves === undefined ? '' : `${settlement.leaves.from} ${settlement.leaves.why}`,
    ...(settlement.step === undefined ? [''] : outcomeArgs(settlement.step)),
  ],
  decode: (reply, [{ conversation, owner }, , wake], keyspace) => {
    const answer = reply as SettleReply;
    if (answer.length === 1) return { status: answer[0] };
    const [status, hasNext, needsWake, logEnd, record, turn, fields, input] = answer;
    const key = keyspace.key(conversation, 'c');
    return {
      status,
      hasNext: hasNext === 1,
      ...(needsWake === 1 && wake !== undefined && { wake }),
      // The fields in `logEnd` replace those of the record, which counts the message of a claimed next turn, too.
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
