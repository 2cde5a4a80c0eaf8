import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummaryLease, SummaryRecord, SummaryRecorded } from '../../domain/ports/summary-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { ACCEPTED_PREFIX, encodeClaim, encodeRecord } from './summary-text.ts';

interface RecordRequest {
  readonly lease: SummaryLease;
  readonly record: SummaryRecord;
}

export function recordSummary(keyspace: Keyspace): ScriptDefinition<RecordRequest, SummaryRecorded> {
  return {
    file: 'record-summary',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, record }) => [
      lease.hash,
      encodeRecord(record),
      record.status === 'accepted' ? PASS_LIMITS.summaryTtlMs : PASS_LIMITS.refusalTtlMs,
      ACCEPTED_PREFIX,
      ...summaryLeaseArgs(lease),
    ],
    decode: (reply) => reply as SummaryRecorded,
  };
}

/** What tells that a job is at work, as `lua/record-summary.lua` takes it. */
export function summaryLeaseArgs({ hash, owner, passId }: SummaryLease): string[] {
  return [hash, encodeClaim(owner), passId];
}
