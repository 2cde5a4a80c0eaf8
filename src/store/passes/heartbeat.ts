import { PASS_LIMITS } from '../../domain/pass.ts';
import type { PassLease, PassLost } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

export function heartbeatPassScript(
  keyspace: Keyspace,
): ScriptDefinition<PassLease, { readonly status: 'held' } | PassLost> {
  return {
    file: 'heartbeat-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ passId, owner }) => [passId, owner, PASS_LIMITS.leaseMs],
    decode: (reply) => ({ status: reply as 'held' | PassLost['status'] }),
  };
}
