import type { Backoff, ConversationState } from '../domain/conversation.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import { checkNumber, type Version } from '../domain/version.ts';
import { decodeConversation, encodeBackoff } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import type { ScriptDefinition } from './script.ts';
import { turnLeaseArgs } from './turn-claims.ts';
import { versionArgs } from './version-record.ts';

export const takeSteeringScript: ScriptDefinition<
  [lease: TurnLease],
  { readonly status: 'taken'; readonly conversation: ConversationState } | Lost
> = {
  file: 'take-steering',
  args: ([lease]) => turnLeaseArgs(lease),
  decode: (reply, [lease], keyspace) => decodeChange(reply as ChangeReply<'taken'>, lease, keyspace),
};

interface TurnVersion {
  /**
   * Live version from which the new version was made. If another version is live, nothing is written:
   * `version_changed`.
   */
  readonly expectedVersion: number;
  readonly version: Version;
  readonly keepVersions: number;
}

type VersionResult<Done extends string> =
  | { readonly status: Done; readonly conversation: ConversationState }
  | { readonly status: 'version_changed'; readonly version: number }
  | Lost;

export interface TurnUndo extends TurnVersion {
  readonly backoff: Backoff;
}

/**
 * Result of removing turns. `known`: nothing is left to undo, perhaps because an earlier attempt of this call did it.
 */
export type UndoResult = VersionResult<'undone' | 'known'>;

export const undoTurnsScript: ScriptDefinition<[lease: TurnLease, undo: TurnUndo], UndoResult> = {
  file: 'undo-turns',
  args: ([lease, undo]) => {
    checkNumber(undo);
    const { expectedVersion, version, backoff, keepVersions } = undo;
    return {
      ...turnLeaseArgs(lease),
      expected: expectedVersion,
      backoff: encodeBackoff(backoff),
      rest: versionArgs(version, keepVersions),
    };
  },
  decode: (reply, [lease], keyspace) => decodeVersionChange(reply as VersionReply<'undone' | 'known'>, lease, keyspace),
};

export interface VersionRollback extends TurnVersion {
  /** Number of the first version with the refused segments: the live version, or an older version that it copied. */
  readonly shownVersion: number;
  /** Hash of the refused segments. No later pass commits segments with this hash. */
  readonly refusedSegments: string;
}

/** `answered`: a model has answered with these segments before, so they cannot be the cause. Nothing was written. */
export type RollbackResult = VersionResult<'rolled_back' | 'known'> | { readonly status: 'answered' };

export const rollBackVersionScript: ScriptDefinition<[lease: TurnLease, rollback: VersionRollback], RollbackResult> = {
  file: 'roll-back-version',
  args: ([lease, rollback]) => {
    checkNumber(rollback);
    const { version, expectedVersion, shownVersion, refusedSegments, keepVersions } = rollback;
    return {
      ...turnLeaseArgs(lease),
      expected: expectedVersion,
      shown: shownVersion,
      segments: refusedSegments,
      rest: versionArgs(version, keepVersions),
    };
  },
  decode: (reply, [lease], keyspace) => {
    const answer = reply as VersionReply<'rolled_back' | 'known'> | ['answered'];
    return answer[0] === 'answered' ? { status: 'answered' } : decodeVersionChange(answer, lease, keyspace);
  },
};

type ChangeReply<Done extends string> = [Done, record: string[]] | [Lost['status']];
type VersionReply<Done extends string> = ChangeReply<Done> | ['version_changed', number];

function decodeVersionChange<Done extends string>(
  reply: VersionReply<Done>,
  lease: TurnLease,
  keyspace: Keyspace,
): VersionResult<Done> {
  return reply[0] === 'version_changed'
    ? { status: 'version_changed', version: reply[1] as number }
    : decodeChange(reply as ChangeReply<Done>, lease, keyspace);
}

function decodeChange<Done extends string>(
  reply: ChangeReply<Done>,
  { conversation }: TurnLease,
  keyspace: Keyspace,
): { readonly status: Done; readonly conversation: ConversationState } | Lost {
  if (reply.length === 1) return { status: reply[0] };
  const [status, record] = reply;
  return { status, conversation: decodeConversation(RecordFields.ofList(keyspace.key(conversation, 'c'), record)) };
}
