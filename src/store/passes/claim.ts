import type { ConversationRef } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { PassClaimResult } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { type ClaimedReply, decodeClaimedPass } from './pass-record.ts';

interface ClaimRequest {
  readonly conversation: ConversationRef;
  readonly owner: string;
  readonly job: string;
  readonly wakeTurn: string;
}

type Reply = ['empty' | 'gone'] | ['held', string] | ['failed', string, number] | ClaimedReply;

export function claimPass(keyspace: Keyspace): ScriptDefinition<ClaimRequest, PassClaimResult> {
  return {
    file: 'claim-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner, job, wakeTurn }) => [owner, job, wakeTurn, PASS_LIMITS.leaseMs, PASS_LIMITS.maxAttempts],
    decode: (reply, { conversation, wakeTurn }) => {
      const answer = reply as Reply;
      switch (answer[0]) {
        case 'claimed':
          return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
        case 'failed':
          return { status: 'failed', passId: answer[1], ...(answer[2] === 1 && { wakeTurn }) };
        case 'held':
          return { status: 'held', untilMs: Number(answer[1]) }; // checked by the script
        case 'empty':
        case 'gone':
          return { status: answer[0] };
      }
    },
  };
}
