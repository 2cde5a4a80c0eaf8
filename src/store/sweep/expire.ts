import type { ConversationRef } from '../../domain/ids.ts';
import type { ExpireResult, SweepStore } from '../../domain/ports/sweep-store.ts';
import { ERASE_BATCH, GONE_MS } from '../contexts/erase.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

interface ExpireProgress {
  readonly result: ExpireResult;
  readonly hasMore: boolean;
}

type Reply = ['kept'] | ['expired' | 'resumed', number, number];

/** Batch after batch; where the conversation is made anew between two of them, the next one keeps it. */
export function bindExpire(run: (conversation: ConversationRef) => Promise<ExpireProgress>): SweepStore['expire'] {
  return async (conversation) => {
    const { result: first, hasMore } = await run(conversation);
    if (first.status === 'kept') return first;
    let { removedKeys } = first;
    for (let isLeft = hasMore; isLeft; ) {
      const next = await run(conversation);
      if (next.result.status !== 'kept') ({ removedKeys } = next.result);
      isLeft = next.hasMore;
    }
    return { status: first.status, removedKeys };
  };
}

export function expireBatch(keyspace: Keyspace): ScriptDefinition<ConversationRef, ExpireProgress> {
  return {
    file: 'expire',
    keys: (conversation) => keyspace.conversation(conversation),
    args: () => [ERASE_BATCH, GONE_MS],
    decode: (reply) => {
      const answer = reply as Reply;
      if (answer[0] === 'kept') return { result: { status: 'kept' }, hasMore: false };
      const [status, removedKeys, more] = answer;
      return { result: { status, removedKeys }, hasMore: more === 1 };
    },
  };
}
