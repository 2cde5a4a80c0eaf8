import type { ConversationRef } from '../../domain/ids.ts';
import type { DecisionAnswer } from '../../domain/ports/proposal-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeDecisionAnswer } from './decision-answer.ts';

interface DecisionName {
  readonly conversation: ConversationRef;
  readonly operation: string;
}

export function readDecision(keyspace: Keyspace): ScriptDefinition<DecisionName, DecisionAnswer | undefined> {
  return {
    file: 'read-decision',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ operation }) => [operation],
    decode: (reply, { conversation, operation }) => {
      if (reply === '') return undefined;
      if (reply === 'pending') return { status: 'pending' };
      return decodeDecisionAnswer(String(reply), keyspace.decision(conversation, operation));
    },
  };
}
