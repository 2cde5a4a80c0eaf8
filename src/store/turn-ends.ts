import { encodeWaitingCalls, nameCalls } from '../domain/event-record.ts';
import type { Lost, TurnSettlement, TurnStore } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../domain/turn.ts';
import { RecordFields } from './records.ts';
import { decodeStatus, type ScriptOf } from './script.ts';
import { closingArgs, decodeClaimedTurn, STRUCTURED } from './turn-record.ts';
import { turnLeaseArgs } from './turn-steps.ts';

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
    JSON.stringify(nameCalls(wait.calls)),
    encodeWaitingCalls(wait.calls),
    ...wait.calls.flatMap(({ id, waitMs }) => [id, waitMs]),
  ],
  decode: decodeStatus,
};

export const releaseTurnScript: ScriptOf<TurnStore['release']> = {
  file: 'release-turn',
  args: ([lease, wake]) => [...turnLeaseArgs(lease), wake],
  decode: decodeStatus,
};

type Next = [turn: string, fields: string[], conversation: string[], input: string];
type SettleReply = ['settled' | 'known', number, number, ...(Next | [])] | [Lost['status']];

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
  ],
  decode: (reply, [{ conversation, owner }, , wake], keyspace) => {
    const answer = reply as SettleReply;
    if (answer.length === 1) return { status: answer[0] };
    const [status, hasNext, needsWake, turn, fields, record, input] = answer;
    return {
      status,
      hasNext: hasNext === 1,
      ...(needsWake === 1 && wake !== undefined && { wake }),
      ...(turn !== undefined && {
        next: decodeClaimedTurn(
          { conversation, owner, turn },
          RecordFields.ofList(keyspace.turn(conversation, turn), fields),
          RecordFields.ofList(keyspace.key(conversation, 'c'), record),
          input,
        ),
      }),
    };
  },
};
