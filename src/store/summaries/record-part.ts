import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummaryLease, SummaryRecorded } from '../../domain/ports/summary-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { summaryLeaseArgs } from './record.ts';

interface PartRequest {
  readonly lease: SummaryLease;
  readonly key: string;
  readonly text: string;
}

/** What every text begins with: whatever lies under the key already stays. */
const ANY_PREFIX = '';

/** A part lies beside the summaries, under a name that none of theirs is: those are hexadecimal. */
export function partHash(key: string): string {
  return `part:${key}`;
}

export function recordPart(keyspace: Keyspace): ScriptDefinition<PartRequest, SummaryRecorded> {
  return {
    file: 'record-summary',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, key, text }) => [
      partHash(key),
      text,
      PASS_LIMITS.summaryTtlMs,
      ANY_PREFIX,
      ...summaryLeaseArgs(lease),
    ],
    decode: (reply) => reply as SummaryRecorded,
  };
}
