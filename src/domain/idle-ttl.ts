import type { Policy } from './policy.ts';

/** Idle TTL carried by a write. A conversation that stays idle this long is erased. */
export interface IdleTtl {
  /** Milliseconds by the policy. 0 means no limit. Absent if the writer has no policy: the last value stays. */
  readonly conversationTtl?: number | undefined;
}

export function idleTtlOf(policy: Policy | undefined): IdleTtl {
  return policy === undefined ? {} : { conversationTtl: policy.conversationTtl ?? 0 };
}
