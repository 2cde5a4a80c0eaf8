import { PASS_LIMITS } from '../../domain/pass.ts';
import type { PassClaimResult, PassLease } from '../../domain/ports/pass-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';
import { type ClaimedReply, decodeClaimedPass } from './pass-record.ts';

type Reply = ['empty' | 'gone'] | ClaimedReply;

/** Its input is the lease that it grants. */
export function takeOverPassScript(keyspace: Keyspace): ScriptDefinition<PassLease, PassClaimResult> {
  return {
    file: 'take-over-pass',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner, passId }) => [owner, passId, PASS_LIMITS.leaseMs],
    decode: (reply, { conversation }) => {
      const answer = reply as Reply;
      if (answer[0] !== 'claimed') return { status: answer[0] };
      return { status: 'claimed', pass: decodeClaimedPass(keyspace, conversation, answer) };
    },
  };
}
