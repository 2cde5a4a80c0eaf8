import { encodeToldCalls, nameCalls } from '../domain/event-record.ts';
import type { Lost, SettleResult, TurnLease, TurnSettlement } from '../domain/ports/turn-store.ts';
import { TURN_LIMITS, type WaitRequest } from '../domain/turn.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import type { ScriptDefinition } from './script.ts';
import { closingArgs, decodeClaimedTurn } from './turn-record.ts';
import { turnLeaseArgs } from './turn-steps.ts';

interface SuspendRequest {
  readonly lease: TurnLease;
  readonly wait: WaitRequest;
}

type SuspendResult = { readonly status: 'suspended' | 'exhausted' } | Lost;

export function suspendTurn(keyspace: Keyspace): ScriptDefinition<SuspendRequest, SuspendResult> {
  return {
    file: 'suspend-turn',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, wait }) => [
      ...turnLeaseArgs(lease),
      wait.for,
      wait.step,
      wait.waitMs,
      TURN_LIMITS.maxSuspensions,
      wait.suspendedIn ?? '',
      wait.passId ?? '',
      JSON.stringify(nameCalls(wait.calls)),
      encodeToldCalls(wait.calls),
      ...wait.calls.flatMap(({ id, waitMs }) => [id, waitMs]),
    ],
    decode: (reply) => ({ status: reply as 'suspended' | 'exhausted' | Lost['status'] }),
  };
}

interface ReleaseRequest {
  readonly lease: TurnLease;
  readonly wake: string;
}

type ReleaseResult = { readonly status: 'released' } | Lost;

export function releaseTurn(keyspace: Keyspace): ScriptDefinition<ReleaseRequest, ReleaseResult> {
  return {
    file: 'release-turn',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, wake }) => [...turnLeaseArgs(lease), wake],
    decode: (reply) => ({ status: reply as ReleaseResult['status'] }),
  };
}

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
