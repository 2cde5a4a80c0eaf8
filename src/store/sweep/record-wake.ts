import type { ConversationRef } from '../../domain/ids.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface WakeRecord {
  readonly kind: 'turn' | 'pass';
  readonly conversation: ConversationRef;
  readonly wake: string;
}

export function recordWake(keyspace: Keyspace): ScriptDefinition<WakeRecord, boolean> {
  return {
    file: 'record-wake',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ kind, wake }) => [kind, wake],
    decode: (reply) => reply === 1,
  };
}
