import type { Policy } from './policy.ts';

/** What a write tells of the rest that begins with it: a conversation with a time to live is erased once it has been idle so long. */
export interface IdleTtl {
  /** ms by the policy, 0: for ever. Absent where no policy is at hand: as the last one said */
  readonly conversationTtl?: number | undefined;
}

export function idleTtlOf(policy: Policy | undefined): IdleTtl {
  return policy === undefined ? {} : { conversationTtl: policy.conversationTtl ?? 0 };
}
