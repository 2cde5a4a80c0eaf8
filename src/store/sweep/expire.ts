import type { ConversationRef } from '../../domain/ids.ts';
import type { ExpireResult, SweepStore } from '../../domain/ports/sweep-store.ts';
import { ERASE_BATCH, GONE_MS } from '../contexts/erase.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

/** Batches of one call, about a millisecond each: the 500 of a conversation of 100,000 keys would hold up all else that a sweep found. */
const MOST_BATCHES = 10;

interface ExpiryCall {
  readonly conversation: ConversationRef;
  readonly owner: string;
}

type Reply = ['expired', number] | [Exclude<ExpireResult['status'], 'expired'>];

/** A few batches; where the conversation is made anew between two of them, the next one keeps it. */
export function bindExpire(run: (call: ExpiryCall) => Promise<ExpireResult>): SweepStore['expire'] {
  return async (conversation, owner) => {
    let result = await run({ conversation, owner });
    for (let batches = 1; result.status === 'more' && batches < MOST_BATCHES; batches += 1) {
      result = await run({ conversation, owner });
    }
    return result;
  };
}

export function expireBatch(keyspace: Keyspace): ScriptDefinition<ExpiryCall, ExpireResult> {
  return {
    file: 'expire',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ owner }) => [owner, ERASE_BATCH, GONE_MS],
    decode: (reply) => {
      const answer = reply as Reply;
      return answer[0] === 'expired' ? { status: 'expired', removedKeys: answer[1] } : { status: answer[0] };
    },
  };
}
