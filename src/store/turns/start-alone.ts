import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { turnLeaseArgs } from './lease.ts';

export function startAlone(keyspace: Keyspace): ScriptDefinition<TurnLease, { readonly status: 'recorded' } | Lost> {
  return {
    file: 'start-alone',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: turnLeaseArgs,
    decode: (reply) => ({ status: reply as 'recorded' | Lost['status'] }),
  };
}
