import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { ConversationState } from '../../domain/conversation.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { PassLease, PassLost, PassStore } from '../../domain/ports/pass-store.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** What a pass finds when it looks. It decides by its last look; the backoff is shut for that, and not for what came behind it. */
export interface PassLook {
  readonly state: ConversationState;
  /** for which it is asked by now */
  readonly requested: readonly Reason[];
  /** upper bound of a request that its provider refused as too long */
  readonly refusedTokens: number | undefined;
  /** counts as those who asked do where that is more: by a smaller factor their reason would be none, and they ask but once */
  readonly prepared: PreparedAgent;
}

/** Reads the reasons before the state: one that is added behind the look keeps the pass from ending by it. */
export async function lookAtPass(
  { passes, contexts }: { readonly passes: PassStore; readonly contexts: Pick<ContextReader, 'readConversation'> },
  lease: PassLease,
  prepared: PreparedAgent,
): Promise<PassLook | PassLost> {
  const held = await passes.readReasons(lease);
  if (held.status !== 'held') return held;
  const state = await contexts.readConversation(lease.conversation);
  if (state === undefined) return { status: 'gone' };
  const { reasons: requested, refusedTokens, calibration: asked = 0 } = held;
  const { overhead } = prepared;
  const calibration = Math.max(asked, overhead.calibration);
  return { state, requested, refusedTokens, prepared: { ...prepared, overhead: { ...overhead, calibration } } };
}
