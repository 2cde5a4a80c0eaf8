import { findBackoffCause } from '../../domain/compaction/backoff.ts';
import { requestTokens } from '../../domain/compaction/budget.ts';
import type { PlanRequest } from '../../domain/compaction/plan.ts';
import { evaluateThresholds, hasHardReason, REASONS, type Reason } from '../../domain/compaction/thresholds.ts';
import { type Context, weighItems } from '../../domain/context.ts';
import { type ConversationState, sinceLastPass } from '../../domain/conversation.ts';
import { limitsAfterOverflow } from '../../domain/limits.ts';
import type { Message, Weight } from '../../domain/message.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { PassLease, PassLost, PassStore } from '../../domain/ports/pass-store.ts';
import { contextSize, upperBoundTokens } from '../../domain/size.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** The reasons of a pass, and the conversation as read after them. A pass decides by its latest snapshot. */
export interface PassSnapshot {
  readonly state: ConversationState;
  /** All reasons requested so far. */
  readonly requested: readonly Reason[];
  /** Upper bound of a request that its provider refused as too long. */
  readonly refusedTokens: number | undefined;
  /**
   * The agent, with the larger of its own calibration and the requesters'. By a smaller factor their threshold might not be
   * met, and they ask only once.
   */
  readonly prepared: PreparedAgent;
}

export type SnapshotResult = { readonly status: 'read'; readonly snapshot: PassSnapshot } | PassLost;

/** Reads the reasons before the state. A reason added after the snapshot then keeps the pass from ending by it. */
export async function readSnapshot(
  { passes, contexts }: { readonly passes: PassStore; readonly contexts: Pick<ContextReader, 'readConversation'> },
  lease: PassLease,
  prepared: PreparedAgent,
): Promise<SnapshotResult> {
  const reasons = await passes.readReasons(lease);
  if (reasons.status !== 'held') return reasons;
  const state = await contexts.readConversation(lease.conversation);
  if (state === undefined) return { status: 'gone' };
  const { reasons: requested, refusedTokens, calibration: requesters = 0 } = reasons;
  const { overhead } = prepared;
  const calibration = Math.max(requesters, overhead.calibration);
  const counted = { ...prepared, overhead: { ...overhead, calibration } };
  return { status: 'read', snapshot: { state, requested, refusedTokens, prepared: counted } };
}

/** Reasons that hold because a caller asserted them, whatever state and policy are now. */
const ASSERTED: ReadonlySet<Reason> = new Set(['overflow', 'manual']);

/** The reasons that hold for this state and policy. The reasons at the request may have become void since. */
export function evaluateRequest(
  prepared: Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>,
  conversation: ConversationState,
  requested: readonly Reason[],
): Reason[] {
  const { policy, limits, overhead } = prepared;
  if (!policy.enabled) return [];
  const { tokens } = contextSize(conversation.size, overhead);
  // The end of a turn is asserted too, but the policy decides if it is a reason.
  const hasTurnEnded = requested.includes('turn_end');
  const measures = { tokens, ...sinceLastPass(conversation), hasTurnEnded };
  const holding = new Set<Reason>(evaluateThresholds(policy, limits, measures));
  for (const reason of requested) if (ASSERTED.has(reason)) holding.add(reason);
  const reasons = REASONS.filter((reason) => holding.has(reason));
  return hasHardReason(reasons) || !findBackoffCause(conversation.backoff, tokens) ? reasons : [];
}

/** Facts besides the context that a plan depends on. */
export interface PassFindings {
  /** Seq of the log's first user message. */
  readonly firstUserSeq: number | undefined;
  /** Upper bound of a request that its provider refused as too long. */
  readonly refusedTokens?: number | undefined;
}

/** Input of plan and settle: a context under the limits that hold for these reasons. */
export function planRequest(
  prepared: PreparedAgent,
  context: Context,
  reasons: readonly Reason[],
  { firstUserSeq, refusedTokens }: PassFindings,
): PlanRequest {
  const { policy, overhead } = prepared;
  const weigh = (message: Message): Weight => prepared.weighNow(message);
  const tokens = requestTokens({ overhead }, weighItems(context.items).tokens);
  // The refused request counts as it was sent: the context may have grown or shrunk since.
  const refused = refusedTokens ?? upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const limits = reasons.includes('overflow') ? limitsAfterOverflow(prepared.limits, refused) : prepared.limits;
  const first = firstUserSeq === undefined ? {} : { firstUserSeq };
  return { context, policy, limits, overhead, reasons, weigh, ...first };
}
