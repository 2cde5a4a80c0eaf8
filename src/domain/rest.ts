import type { Policy } from './policy.ts';

/** What a write tells of the rest that begins with it: a conversation with a time to live is erased once it has rested so long. */
export interface Rest {
  /** ms by the policy, 0: for ever. Absent where no policy is at hand: as the last one said */
  readonly conversationTtl?: number | undefined;
}

export function restOf(policy: Policy | undefined): Rest {
  return policy === undefined ? {} : { conversationTtl: policy.conversationTtl ?? 0 };
}
