import type { ConversationRef } from '../../domain/ids.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

export function startIdleTtl(keyspace: Keyspace): ScriptDefinition<ConversationRef, void> {
  return {
    file: 'start-idle-ttl',
    keys: (conversation) => keyspace.conversation(conversation),
    args: () => [],
    decode: () => undefined,
  };
}
