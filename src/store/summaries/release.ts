import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import type { SummaryOwner } from './summary-owner.ts';
import { encodeClaim } from './summary-text.ts';

export function releaseSummary(keyspace: Keyspace): ScriptDefinition<SummaryOwner, boolean> {
  return {
    file: 'release-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, owner }) => [hash, encodeClaim(owner)],
    decode: (reply) => reply === 1,
  };
}
