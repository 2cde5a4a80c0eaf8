import type { AcceptRequest, AcceptResult } from '../../domain/ports/turn-store.ts';
import type { TurnState } from '../../domain/turn.ts';
import { type Keyspace, STORE_SCHEMA } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { decodeForking, type ForkingReply } from '../versions/fork-lease.ts';

type Reply =
  | ['accepted' | 'known', TurnState, number]
  | ['conflict']
  | ForkingReply
  | ['other_agent', string]
  | ['full', number]
  | ['not_failed', TurnState | ''];

export function acceptTurnScript(keyspace: Keyspace): ScriptDefinition<AcceptRequest, AcceptResult> {
  return {
    file: 'accept-turn',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ turn, agent, payloadHash, input, wake, delayMs, maxQueuedTurns, redriveOf, askedIn, context }) => [
      turn,
      agent,
      payloadHash,
      `${input.tokens} ${input.bytes}\n${JSON.stringify(input.message)}`,
      wake,
      delayMs ?? 0,
      maxQueuedTurns,
      STORE_SCHEMA,
      redriveOf ?? '',
      askedIn ?? '',
      context ?? '',
    ],
    decode: (reply) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'conflict':
          return { status: 'conflict' };
        case 'forking':
          return decodeForking(answer);
        case 'other_agent':
          return { status: 'other_agent', agent: answer[1] };
        case 'full':
          return { status: 'full', queued: answer[1] };
        case 'not_failed':
          return { status: 'not_failed', ...(answer[1] !== '' && { state: answer[1] }) };
        case 'accepted':
        case 'known':
          return { status: answer[0], state: answer[1], needsWake: answer[2] === 1 };
      }
    },
  };
}
