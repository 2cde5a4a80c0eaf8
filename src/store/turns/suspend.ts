import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import { type CallToWaitFor, TURN_LIMITS, type WaitRequest } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

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

/** Arguments of all calls of one event, in characters: a conversation keeps about 500 events. */
const TOLD_CHARACTERS = 4_000;

/** The calls of a `turn_waiting` event: arguments that are cut say so. */
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
