import type { ConversationRef } from '../../domain/ids.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

export function beginRest(keyspace: Keyspace): ScriptDefinition<ConversationRef, void> {
  return {
    file: 'begin-rest',
    keys: (conversation) => keyspace.conversation(conversation),
    args: () => [],
    decode: () => undefined,
  };
}
