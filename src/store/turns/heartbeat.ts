import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

export function heartbeatTurnScript(
  keyspace: Keyspace,
): ScriptDefinition<TurnLease, { readonly status: 'held' } | Lost> {
  return {
    file: 'heartbeat-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: (lease) => [...turnLeaseArgs(lease), TURN_LIMITS.leaseMs],
    decode: (reply) => ({ status: reply as 'held' | Lost['status'] }),
  };
}
