import type { ConversationRef } from '../../domain/ids.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface Promotion {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly wake: string;
}

export function promoteTurn(keyspace: Keyspace): ScriptDefinition<Promotion, { readonly needsWake: boolean }> {
  return {
    file: 'promote-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ turn, wake }) => [turn, wake],
    decode: (reply) => ({ needsWake: reply === 1 }),
  };
}
