import type { Lost, SettleResult, TurnLease, TurnSettlement } from '../domain/ports/turn-store.ts';
import { type CallToWaitFor, TURN_LIMITS, type WaitRequest } from '../domain/turn.ts';
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

/** Characters of all calls' arguments in one event. A conversation keeps about 500 events. */
const TOLD_CHARACTERS = 4_000;

/** Encodes the calls of a `turn_waiting` event. Arguments that were cut have `isCut`. */
export function encodeToldCalls(calls: readonly CallToWaitFor[]): string {
  const most = Math.floor(TOLD_CHARACTERS / Math.max(1, calls.length));
  return JSON.stringify(
    nameCalls(calls).map((call) =>
      call.arguments.length <= most
        ? call
        : { ...call, arguments: call.arguments.slice(0, most).toWellFormed(), isCut: true },
    ),
  );
}

function nameCalls(calls: readonly CallToWaitFor[]): Omit<CallToWaitFor, 'waitMs'>[] {
  return calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }));
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
