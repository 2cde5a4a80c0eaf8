import type { PassLease, PassLost } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface Parking {
  readonly lease: PassLease;
  readonly job: string;
  readonly parkMs: number;
}

export function parkPass(keyspace: Keyspace): ScriptDefinition<Parking, { readonly status: 'parked' } | PassLost> {
  return {
    file: 'park-pass',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, job, parkMs }) => [lease.passId, lease.owner, job, parkMs],
    decode: (reply) => ({ status: reply as 'parked' | PassLost['status'] }),
  };
}
