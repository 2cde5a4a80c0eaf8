import type { Acknowledged } from '../../domain/durability.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { ContextStore } from '../../domain/ports/context-store.ts';
import type { Keyspace } from '../keys.ts';
import type { ScriptDefinition } from '../script.ts';

/** How long writers of an erased conversation are told so. */
export const GONE_MS = 86_400_000;
/** Keys that one script removes, so that none holds Redis for long; but the accept that makes anew removes all that is left. */
export const ERASE_BATCH = 200;

interface EraseRequest {
  readonly conversation: ConversationRef;
  readonly isFirst: boolean;
}

interface EraseProgress {
  readonly removedKeys: number;
  readonly hasMore: boolean;
}

/**
 * Removes batch after batch, until one is unsure. One that was cut off is gone on with by the next sweep, by the next erase, or by
 * the accept that makes anew.
 */
export function bindErase(run: (batch: EraseRequest) => Promise<Acknowledged<EraseProgress>>): ContextStore['erase'] {
  return async (conversation) => {
    let progress = await run({ conversation, isFirst: true });
    let { removedKeys } = progress;
    while (progress.hasMore && progress.shortfall === undefined) {
      progress = await run({ conversation, isFirst: false });
      removedKeys = Math.max(removedKeys, progress.removedKeys);
    }
    const { shortfall } = progress;
    return { removedKeys, ...(shortfall !== undefined && { shortfall }) };
  };
}

export function eraseBatch(keyspace: Keyspace): ScriptDefinition<EraseRequest, EraseProgress> {
  return {
    file: 'erase',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ isFirst }) => [isFirst ? 1 : 0, ERASE_BATCH, GONE_MS],
    decode: (reply) => {
      const [removedKeys, more] = reply as [number, number];
      return { removedKeys, hasMore: more === 1 };
    },
  };
}
