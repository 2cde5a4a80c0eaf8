import type { ConversationState } from '../domain/conversation.ts';
import type { Policy } from '../domain/policy.ts';

/**
 * How a conversation's sequences are summarized. Over a version that was put in place of a refused one, without a model: what
 * comes of the same log is then the same, and never again what the provider refused.
 */
export function summaryPolicy(policy: Policy, { quarantine, size }: ConversationState): Policy {
  return quarantine?.version === size.version ? { ...policy, summarizer: 'structural' } : policy;
}
