import type { ConversationRef } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { SummaryRecord } from '../../domain/ports/summary-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { ACCEPTED_PREFIX, encodeRecord } from './summary-text.ts';

interface RecordRequest {
  readonly conversation: ConversationRef;
  readonly hash: string;
  readonly record: SummaryRecord;
}

export function recordSummary(keyspace: Keyspace): ScriptDefinition<RecordRequest, 'recorded' | 'gone'> {
  return {
    file: 'record-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, record }) => [
      hash,
      encodeRecord(record),
      record.status === 'accepted' ? PASS_LIMITS.summaryTtlMs : PASS_LIMITS.refusalTtlMs,
      ACCEPTED_PREFIX,
    ],
    decode: (reply) => reply as 'recorded' | 'gone',
  };
}
