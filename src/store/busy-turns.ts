import type { Redis } from 'ioredis';
import type { Backoff, ConversationState } from '../domain/conversation.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import { checkNumber, type Version } from '../domain/version.ts';
import { decodeConversation, encodeBackoff } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';
import { turnLeaseArgs } from './turn-claims.ts';
import { versionArgs } from './version-record.ts';

/** Opens the operations of the running turn on turns that were enqueued with `onBusy`. Every write checks the lease. */
export function openBusyTurnStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return { takeSteering: bind(takeSteeringScript), undoTurns: bind(undoTurnsScript) };
}

export type BusyTurnStore = ReturnType<typeof openBusyTurnStore>;

/**
 * Appends the messages of the turns that steer this turn to the log. Appends nothing while tool calls have no results.
 */
const takeSteeringScript: ScriptDefinition<
  [lease: TurnLease],
  { readonly status: 'taken'; readonly conversation: ConversationState } | Lost
> = {
  file: 'take-steering',
  args: ([lease]) => turnLeaseArgs(lease),
  decode: (reply, [{ conversation }], keyspace) => {
    const answer = reply as ['taken', string[]] | [Lost['status']];
    if (answer.length === 1) return { status: answer[0] };
    const record = RecordFields.ofList(keyspace.key(conversation, 'c'), answer[1]);
    return { status: answer[0], conversation: decodeConversation(record) };
  },
};

type UndoReply = ['undone' | 'known', string[]] | ['version_changed', number] | [Lost['status']];

export type UndoResult =
  /** `known`: nothing is left to undo, perhaps because an earlier attempt of this call did it. */
  | { readonly status: 'undone' | 'known'; readonly conversation: ConversationState }
  | { readonly status: 'version_changed'; readonly version: number }
  | Lost;

/** A context version without the messages of turns that left the context. */
export interface TurnUndo {
  /** Live version from which the new one was made. If another is live, nothing is written: `version_changed`. */
  readonly expectedVersion: number;
  readonly version: Version;
  /** Context sizes that stop soft compaction until the context has grown. */
  readonly backoff: Backoff;
  readonly keepVersions: number;
}

/**
 * Removes the messages that `undo` of the conversation lists from the context, before the first step of the next turn.
 * The lease of the turn that was settled last is valid, too, while no other turn is open.
 */
const undoTurnsScript: ScriptDefinition<[lease: TurnLease, undo: TurnUndo], UndoResult> = {
  file: 'undo-turns',
  args: ([lease, undo]) => {
    checkNumber(undo);
    const { expectedVersion, version, backoff, keepVersions } = undo;
    return [...turnLeaseArgs(lease), expectedVersion, encodeBackoff(backoff), ...versionArgs(version, keepVersions)];
  },
  decode: (reply, [{ conversation }], keyspace) => {
    const answer = reply as UndoReply;
    if (answer[0] === 'version_changed') return { status: answer[0], version: answer[1] };
    if (answer.length === 1) return { status: answer[0] };
    const record = RecordFields.ofList(keyspace.key(conversation, 'c'), answer[1]);
    return { status: answer[0], conversation: decodeConversation(record) };
  },
};
