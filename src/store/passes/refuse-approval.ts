import type { PassLease, PassLost } from '../../domain/ports/pass-store.ts';
import type { ApprovalRefusal } from '../../domain/proposal.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface RefusalRequest {
  readonly lease: PassLease;
  readonly refusal: ApprovalRefusal;
}

type Refused = { readonly status: 'refused' | 'dropped' } | PassLost;

export function refuseApproval(keyspace: Keyspace): ScriptDefinition<RefusalRequest, Refused> {
  return {
    file: 'refuse-approval',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, refusal }) => [lease.passId, lease.owner, JSON.stringify(refusal), refusal.code],
    decode: (reply) => ({ status: reply as Refused['status'] }),
  };
}
