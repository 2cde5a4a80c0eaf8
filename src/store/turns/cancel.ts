import type { ConversationRef } from '../../domain/ids.ts';
import type { CancelResult } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS, type TurnState } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { closingArgs } from './closing-result.ts';

interface CancelRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly wake: string;
}

type Reply = ['canceled', number] | ['settled', TurnState] | ['not_found'];

export function cancelTurnScript(keyspace: Keyspace): ScriptDefinition<CancelRequest, CancelResult> {
  return {
    file: 'cancel-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ turn, wake }) => [turn, wake, TURN_LIMITS.turnRetentionMs, ...closingArgs()],
    decode: (reply, { wake }) => {
      const answer = reply as Reply;
      if (answer[0] === 'settled') return { status: 'settled', state: answer[1] };
      if (answer[0] === 'not_found') return { status: 'not_found' };
      return { status: 'canceled', ...(answer[1] === 1 && { wake }) };
    },
  };
}
