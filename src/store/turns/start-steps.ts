import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

interface StartRequest {
  readonly lease: TurnLease;
  readonly steps: readonly string[];
}

export function startSteps(keyspace: Keyspace): ScriptDefinition<StartRequest, { readonly status: 'recorded' } | Lost> {
  return {
    file: 'start-steps',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, steps }) => [...turnLeaseArgs(lease), ...steps],
    decode: (reply) => ({ status: reply as 'recorded' | Lost['status'] }),
  };
}
