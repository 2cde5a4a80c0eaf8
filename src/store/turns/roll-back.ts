import type { Lost, RollbackResult, TurnLease, VersionRollback } from '../../domain/ports/turn-store.ts';
import { checkNumber } from '../../domain/version.ts';
import { decodeConversation } from '../conversation-record.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { versionArgs } from '../version-args.ts';
import { turnLeaseArgs } from './lease.ts';

interface RollbackRequest {
  readonly lease: TurnLease;
  readonly rollback: VersionRollback;
}

type Reply = ['rolled_back' | 'known', string[]] | ['version_changed', number] | ['answered'] | [Lost['status']];

export function rollBackVersion(keyspace: Keyspace): ScriptDefinition<RollbackRequest, RollbackResult> {
  return {
    file: 'roll-back-version',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, rollback }) => {
      checkNumber(rollback);
      const { version, expectedVersion, shownVersion, refusedSegments, keepVersions } = rollback;
      const refused = [expectedVersion, shownVersion, refusedSegments];
      return [...turnLeaseArgs(lease), ...refused, ...versionArgs(version, keepVersions)];
    },
    decode: (reply, { lease }) => {
      const answer = reply as Reply;
      if (answer[0] === 'version_changed') return { status: answer[0], version: answer[1] };
      if (answer.length === 1) return { status: answer[0] };
      const record = RecordFields.ofList(keyspace.key(lease.conversation, 'c'), answer[1]);
      return { status: answer[0], conversation: decodeConversation(record) };
    },
  };
}
