import type { ConversationState } from '../domain/conversation.ts';
import type { Policy } from '../domain/policy.ts';

/**
 * How a conversation's sequences are summarized. Over a version that was put in place of a refused one, without a model: what
 * comes of the same log is then the same, and never again what the provider refused.
 */
export function summaryPolicy(policy: Policy, state: ConversationState): Policy {
  return isRolledBack(state) ? { ...policy, summarizer: 'structural' } : policy;
}

/** Whether the live version was put in place of a refused one. */
export function isRolledBack({ quarantine, size }: Pick<ConversationState, 'quarantine' | 'size'>): boolean {
  return quarantine?.version === size.version;
}
