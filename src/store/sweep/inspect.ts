import type { ConversationRef } from '../../domain/ids.ts';
import type { SweepDecision } from '../../domain/ports/sweep-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface Inspection {
  readonly kind: 'turn' | 'pass';
  readonly conversation: ConversationRef;
}

type Reply = ['quiet'] | ['lapsed', string];

export function inspect(keyspace: Keyspace): ScriptDefinition<Inspection, SweepDecision> {
  return {
    file: 'inspect',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ kind }) => [kind],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'quiet') return { status: 'quiet' };
      return { status: 'lapsed', ...(answer[1] !== '' && { recordedWake: answer[1] }) };
    },
  };
}
