import type { Settlement, SettleResult, TurnLease } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { closingArgs } from './closing-result.ts';
import { leaseArgs } from './lease.ts';

interface SettleRequest {
  readonly lease: TurnLease;
  readonly settlement: Settlement;
  readonly wake: string | undefined;
}

type Reply = ['settled' | 'known', number, number] | ['fenced' | 'gone'];

export function settleTurn(keyspace: Keyspace): ScriptDefinition<SettleRequest, SettleResult> {
  return {
    file: 'settle-turn',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, settlement, wake }) => [
      ...leaseArgs(lease),
      settlement.state,
      ...(settlement.state === 'completed'
        ? ['answerSeq', settlement.answerSeq]
        : ['failure', JSON.stringify(settlement.failure)]),
      wake ?? '',
      TURN_LIMITS.turnRetentionMs,
      ...closingArgs(),
    ],
    decode: (reply, { wake }) => {
      const answer = reply as Reply;
      if (answer[0] === 'fenced' || answer[0] === 'gone') return { status: answer[0] };
      return { status: answer[0], hasNext: answer[1] === 1, ...(answer[2] === 1 && wake !== undefined && { wake }) };
    },
  };
}
