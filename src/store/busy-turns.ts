import type { BusyTurnStore } from '../domain/ports/busy-turns.ts';
import type { Lost } from '../domain/ports/turn-store.ts';
import { checkNumber } from '../domain/version.ts';
import { decodeConversation, encodeBackoff } from './conversation-record.ts';
import { RecordFields } from './records.ts';
import type { ScriptOf } from './script.ts';
import { turnLeaseArgs } from './turn-steps.ts';
import { versionArgs } from './version-record.ts';

export const takeSteeringScript: ScriptOf<BusyTurnStore['takeSteering']> = {
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

export const undoTurnsScript: ScriptOf<BusyTurnStore['undoTurns']> = {
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
