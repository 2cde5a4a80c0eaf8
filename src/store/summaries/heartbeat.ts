import { PASS_LIMITS } from '../../domain/pass.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import type { SummaryOwner } from './summary-owner.ts';
import { encodeClaim } from './summary-text.ts';

export function heartbeatSummary(keyspace: Keyspace): ScriptDefinition<SummaryOwner, boolean> {
  return {
    file: 'heartbeat-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, owner }) => [hash, encodeClaim(owner), PASS_LIMITS.summaryClaimMs],
    decode: (reply) => reply === 1,
  };
}
