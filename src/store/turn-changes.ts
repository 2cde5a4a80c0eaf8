import type { Backoff, ConversationState } from '../domain/conversation.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import { checkNumber, type Version } from '../domain/version.ts';
import { decodeConversation, encodeBackoff } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import { decodeReply, type ScriptDefinition } from './script.ts';
import { turnLeaseArgs } from './turn-claims.ts';
import { versionArgs } from './version-record.ts';

type SteeringResult = { readonly status: 'taken'; readonly conversation: ConversationState } | Lost;

/** @param refuses field of a message that the agent does not accept. Such a message steers no turn */
export const takeSteeringScript: ScriptDefinition<[lease: TurnLease, refuses?: 'parts'], SteeringResult> = {
  file: 'take-steering',
  args: ([lease, refuses]) => ({ ...turnLeaseArgs(lease), refuses }),
  decode: (reply, [lease], keyspace) =>
    decodeReply<SteeringResult>(reply, { taken: conversationReader(lease, keyspace) }),
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
 * Result of removing turns from the context. `known`: nothing is left to undo, perhaps because an earlier attempt of
 * this call did it.
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
  decode: (reply, [lease], keyspace) => {
    const read = conversationReader(lease, keyspace);
    return decodeReply<UndoResult>(reply, { undone: read, known: read, version_changed: readVersion });
  },
};

export interface VersionRollback extends TurnVersion {
  /** Number of the first version with the refused segments: the live version, or an older version that was copied. */
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
    const read = conversationReader(lease, keyspace);
    return decodeReply<RollbackResult>(reply, { rolled_back: read, known: read, version_changed: readVersion });
  },
};

function readVersion(version: number) {
  return { version };
}

function conversationReader({ conversation }: TurnLease, keyspace: Keyspace) {
  const key = keyspace.key(conversation, 'c');
  return (record: string[]) => ({ conversation: decodeConversation(RecordFields.ofList(key, record)) });
}
