import type { ConversationRef } from '../../domain/ids.ts';
import type { ClaimResult } from '../../domain/ports/turn-store.ts';
import { POISON_FAILURE, TURN_LIMITS } from '../../domain/turn.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import type { ScriptDefinition } from '../script.ts';
import { closingArgs } from './closing-result.ts';
import { decodeClaimedTurn } from './turn-record.ts';

export interface ClaimRequest {
  readonly conversation: ConversationRef;
  readonly owner: string;
  readonly wake: string;
}

type Reply =
  | ['gone' | 'empty']
  | ['held' | 'waiting', string]
  | ['poison', string, number]
  | ['claimed', string, string[], string[], string];

export function claimTurn(keyspace: Keyspace): ScriptDefinition<ClaimRequest, ClaimResult> {
  return {
    file: 'claim-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner, wake }) => [
      owner,
      wake,
      TURN_LIMITS.leaseMs,
      TURN_LIMITS.maxAttempts,
      JSON.stringify(POISON_FAILURE),
      TURN_LIMITS.turnRetentionMs,
      ...closingArgs(),
    ],
    decode: (reply, { conversation, owner, wake }) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'claimed': {
          const [, turn, fields, record, input] = answer;
          const lease = { conversation, turn, owner };
          const claimed = RecordFields.ofList(keyspace.turn(conversation, turn), fields);
          const holder = RecordFields.ofList(keyspace.key(conversation, 'c'), record);
          return { status: 'claimed', turn: decodeClaimedTurn(lease, claimed, holder, input) };
        }
        case 'poison':
          return { status: 'poison', turn: answer[1], ...(answer[2] === 1 && { wake }) };
        case 'held':
        case 'waiting':
          return { status: answer[0], untilMs: Number(answer[1]) };
        case 'gone':
        case 'empty':
          return { status: answer[0] };
      }
    },
  };
}
