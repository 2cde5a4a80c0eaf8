import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { PassLease, PassLost } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface PlanRecord {
  readonly lease: PassLease;
  readonly plan: PassPlan;
}

export function recordPlan(
  keyspace: Keyspace,
): ScriptDefinition<PlanRecord, { readonly status: 'recorded' } | PassLost> {
  return {
    file: 'record-plan',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, plan }) => [lease.passId, lease.owner, JSON.stringify(plan)],
    decode: (reply) => ({ status: reply as 'recorded' | PassLost['status'] }),
  };
}
