import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummaryClaim } from '../../domain/ports/summary-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import type { SummaryOwner } from './summary-owner.ts';
import { CLAIM_PREFIX, decodeRecord, encodeClaim } from './summary-text.ts';

type Reply = ['claimed' | 'in_flight' | 'gone'] | ['known', string];

export function claimSummary(keyspace: Keyspace): ScriptDefinition<SummaryOwner, SummaryClaim> {
  return {
    file: 'claim-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, owner }) => [hash, encodeClaim(owner), CLAIM_PREFIX, PASS_LIMITS.summaryClaimMs],
    decode: (reply, { conversation, hash }) => {
      const answer = reply as Reply;
      if (answer[0] !== 'known') return { status: answer[0] };
      const record = decodeRecord(answer[1], keyspace.summary(conversation, hash));
      return record === undefined ? { status: 'in_flight' } : { status: 'known', record };
    },
  };
}
