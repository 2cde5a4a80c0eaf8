import { encodeToldCalls, nameCalls } from '../../domain/event-record.ts';
import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS, type WaitRequest } from '../../domain/turn.ts';
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
