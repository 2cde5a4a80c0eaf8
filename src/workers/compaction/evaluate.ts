import { isBackedOff } from '../../domain/compaction/backoff.ts';
import { evaluateThresholds, hasHardReason, REASONS, type Reason } from '../../domain/compaction/thresholds.ts';
import { type ConversationState, sinceLastPass } from '../../domain/conversation.ts';
import { contextSize } from '../../domain/size.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** Said by whoever asked, and true whatever state and policy are now. */
const ASSERTED: ReadonlySet<Reason> = new Set(['overflow', 'manual']);

/** The reasons for which a pass goes on: evaluated on fresh state, whatever was true when it was asked for. */
export function evaluateRequest(
  prepared: Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>,
  conversation: ConversationState,
  requested: readonly Reason[],
): Reason[] {
  const { policy, limits, overhead } = prepared;
  if (!policy.enabled) return [];
  const { tokens } = contextSize(conversation.size, overhead);
  // That a turn ended is asserted too; whether it is a reason is the policy's word.
  const hasTurnEnded = requested.includes('turn_end');
  const measures = { tokens, ...sinceLastPass(conversation), hasTurnEnded };
  const holding = new Set<Reason>(evaluateThresholds(policy, limits, measures));
  for (const reason of requested) if (ASSERTED.has(reason)) holding.add(reason);
  const reasons = REASONS.filter((reason) => holding.has(reason));
  return hasHardReason(reasons) || !isBackedOff(conversation.backoff, tokens) ? reasons : [];
}
