import { findBackoffCause } from '../../compaction/backoff.ts';
import { requestTokensOf } from '../../compaction/budget.ts';
import type { Context } from '../../compaction/context.ts';
import type { PlanRequest } from '../../compaction/plan.ts';
import { evaluateThresholds } from '../../compaction/thresholds.ts';
import { type ConversationState, sinceLastPass } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { limitsAfterOverflow } from '../../domain/limits.ts';
import type { Message, Weight } from '../../domain/message.ts';
import { hasHardReason, REASONS, type Reason } from '../../domain/pass.ts';
import { calibrationOf, contextSize, upperBoundTokens } from '../../domain/size.ts';
import type { ContextReader } from '../../store/contexts.ts';
import type { PassLease, PassLost } from '../../store/pass-record.ts';
import type { PassStore } from '../../store/passes.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** The facts by which a pass decides. The state was read after the reasons. */
export interface PassSnapshot {
  readonly state: ConversationState;
  readonly requested: readonly Reason[];
  /** Upper bound in tokens of a request that the provider refused as too long. */
  readonly refusedTokens: number | undefined;
  /**
   * The agent, with the largest calibration factor of the agent, the last count and all requesters. With a smaller
   * factor, the size might not reach the threshold that a requester saw, and a requester asks only once.
   */
  readonly prepared: PreparedAgent;
}

export type SnapshotResult = { readonly status: 'read'; readonly snapshot: PassSnapshot } | PassLost;

/** Reads the reasons first. A reason that is added later then keeps the pass from ending by this snapshot. */
export async function readSnapshot(
  { passes, contexts }: { readonly passes: PassStore; readonly contexts: Pick<ContextReader, 'readConversation'> },
  lease: PassLease,
  prepared: PreparedAgent,
): Promise<SnapshotResult> {
  const reasons = await passes.readReasons(lease);
  if (reasons.status !== 'current') return reasons;
  const state = await contexts.readConversation(lease.conversation);
  if (state === undefined) return { status: 'gone' };
  const { reasons: requested, refusedTokens, calibration: requesters = 0 } = reasons;
  const { overhead } = prepared;
  const calibration = Math.max(requesters, calibrationOf(state.size, overhead));
  const counted = { ...prepared, overhead: { ...overhead, calibration } };
  return { status: 'read', snapshot: { state, requested, refusedTokens, prepared: counted } };
}

/** Reasons that hold because a caller stated them, whatever the state and the policy. */
const ASSERTED: ReadonlySet<Reason> = new Set(['overflow', 'manual']);

/** Lists the reasons that hold now. A requested reason may no longer hold. */
export function evaluateRequest(
  prepared: Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>,
  conversation: ConversationState,
  requested: readonly Reason[],
): Reason[] {
  const { policy, limits, overhead } = prepared;
  if (!policy.enabled) return [];
  const { tokens } = contextSize(conversation.size, overhead);
  // A caller can also name `turn_end`, but the policy decides if that is a reason.
  const hasTurnEnded = requested.includes('turn_end');
  const measures = { tokens, ...sinceLastPass(conversation), hasTurnEnded };
  const holding = new Set<Reason>(evaluateThresholds(policy, limits, measures));
  for (const reason of requested) if (ASSERTED.has(reason)) holding.add(reason);
  const reasons = REASONS.filter((reason) => holding.has(reason));
  return hasHardReason(reasons) || !findBackoffCause(conversation.backoff, tokens) ? reasons : [];
}

/** Facts, besides the context, on which a plan depends. */
export interface PassFindings {
  readonly firstUserSeq: number | undefined;
  readonly refusedTokens?: number | undefined;
}

/** Builds the request for a plan, with the limits that apply for the reasons of the pass. */
export function planRequest(
  prepared: PreparedAgent,
  context: Context,
  reasons: readonly Reason[],
  { firstUserSeq, refusedTokens }: PassFindings,
): PlanRequest {
  const { policy, overhead } = prepared;
  const weigh = (message: Message): Weight => prepared.weighNow(message);
  const tokens = requestTokensOf({ overhead }, context.items);
  // The size of the request that was refused counts, because the context has changed since.
  const refused = refusedTokens ?? upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const limits = reasons.includes('overflow') ? limitsAfterOverflow(prepared.limits, refused) : prepared.limits;
  const first = firstUserSeq === undefined ? {} : { firstUserSeq };
  return { context, policy, limits, overhead, reasons, weigh, ...first };
}

const CHUNK = 16;

/** Finds the first user message. It is nearly always among the first two messages. */
export async function findFirstUser(
  contexts: Pick<ContextReader, 'readLog'>,
  conversation: ConversationRef,
  head: number,
): Promise<number | undefined> {
  for (let from = 1; from <= head; from += CHUNK) {
    const entries = await contexts.readLog(conversation, [{ from, to: Math.min(head, from + CHUNK - 1) }]);
    const user = entries.find((entry) => entry.message.role === 'user');
    if (user !== undefined) return user.seq;
  }
  return undefined;
}
