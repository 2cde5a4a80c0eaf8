import type { DueEntry } from '../../domain/ports/sweep-store.ts';
import { idleMember, type Keyspace, readyMember, scheduledMember } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface QuarantineRequest {
  readonly entry: DueEntry;
  readonly why: string;
}

export function quarantine(keyspace: Keyspace): ScriptDefinition<QuarantineRequest, boolean> {
  return {
    file: 'quarantine',
    keys: ({ entry }) => {
      const shard = keyspace.shardOf(entry.conversation);
      return [entry.kind === 'idle' ? keyspace.idle(shard) : keyspace.ready(shard)];
    },
    args: ({ entry, why }) => {
      const shard = keyspace.shardOf(entry.conversation);
      return [keyspace.shardPrefix(shard), entry.kind === 'idle' ? 'idle' : 'ready', memberOf(entry), why];
    },
    decode: (reply) => reply === 1,
  };
}

export function memberOf({ kind, conversation, turn = '' }: DueEntry): string {
  if (kind === 'idle') return idleMember(conversation);
  return kind === 'scheduled'
    ? scheduledMember(conversation, turn)
    : readyMember(kind === 'turn' ? 't' : 'p', conversation);
}
