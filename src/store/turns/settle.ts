import type { Lost, SettleResult, TurnLease, TurnSettlement } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { closingArgs } from './closing-result.ts';
import { turnLeaseArgs } from './lease.ts';
import { decodeClaimedTurn } from './turn-record.ts';

interface SettleRequest {
  readonly lease: TurnLease;
  readonly settlement: TurnSettlement;
  readonly wake: string | undefined;
}

type Taken = [string, string[], string[], string];
type Reply = ['settled' | 'known', number, number, ...(Taken | [])] | [Lost['status']];

function describeAnswer({ answerSeq, end }: Extract<TurnSettlement, { state: 'completed' }>): string {
  return end === undefined ? String(answerSeq) : `${answerSeq} ${end}`;
}

export function settleTurn(keyspace: Keyspace): ScriptDefinition<SettleRequest, SettleResult> {
  return {
    file: 'settle-turn',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, settlement, wake }) => [
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
    decode: (reply, { lease, wake }) => {
      const answer = reply as Reply;
      if (answer.length === 1) return { status: answer[0] };
      const [status, hasNext, needsWake, turn, fields, record, input] = answer;
      const { conversation, owner } = lease;
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
}
