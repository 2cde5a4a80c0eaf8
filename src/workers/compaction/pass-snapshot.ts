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

/**
 * The facts by which a compaction pass decides: its reasons, and the conversation's state that was read after the
 * reasons.
 */
export interface PassSnapshot {
  readonly state: ConversationState;
  /** All reasons for which callers requested the compaction pass so far. */
  readonly requested: readonly Reason[];
  /** Tokens (upper bound) of a request that the provider refused as too long. */
  readonly refusedTokens: number | undefined;
  /**
   * The agent, with the largest calibration factor among its own, that of the provider's last count, and those of the
   * compaction pass's requesters. With a smaller factor, a requester's threshold might not be met, and a requester asks only once.
   */
  readonly prepared: PreparedAgent;
}

export type SnapshotResult = { readonly status: 'read'; readonly snapshot: PassSnapshot } | PassLost;

/**
 * Reads the reasons of the compaction pass, and then the conversation's state. In this order, a reason that is added
 * later keeps the pass from ending by an outdated snapshot.
 */
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

/** Reasons to compact that hold because a caller stated them, regardless of the conversation's state and the policy. */
const ASSERTED: ReadonlySet<Reason> = new Set(['overflow', 'manual']);

/**
 * Returns the reasons to compact that hold for the conversation's current state and policy. Reasons for which the pass
 * was requested may no longer hold.
 */
export function evaluateRequest(
  prepared: Pick<PreparedAgent, 'policy' | 'limits' | 'overhead'>,
  conversation: ConversationState,
  requested: readonly Reason[],
): Reason[] {
  const { policy, limits, overhead } = prepared;
  if (!policy.enabled) return [];
  const { tokens } = contextSize(conversation.size, overhead);
  // A caller also states the reason `turn_end`, but the policy decides whether the end of a turn is a reason to
  // compact.
  const hasTurnEnded = requested.includes('turn_end');
  const measures = { tokens, ...sinceLastPass(conversation), hasTurnEnded };
  const holding = new Set<Reason>(evaluateThresholds(policy, limits, measures));
  for (const reason of requested) if (ASSERTED.has(reason)) holding.add(reason);
  const reasons = REASONS.filter((reason) => holding.has(reason));
  return hasHardReason(reasons) || !findBackoffCause(conversation.backoff, tokens) ? reasons : [];
}

/** Facts outside the context that a compaction plan depends on. */
export interface PassFindings {
  /** Seq of the first user message in the log. */
  readonly firstUserSeq: number | undefined;
  /** Tokens (upper bound) of a request that the provider refused as too long. */
  readonly refusedTokens?: number | undefined;
}

/**
 * Builds the input for planning and settling a compaction pass: the context, and the limits that apply for the reasons
 * of the pass.
 */
export function planRequest(
  prepared: PreparedAgent,
  context: Context,
  reasons: readonly Reason[],
  { firstUserSeq, refusedTokens }: PassFindings,
): PlanRequest {
  const { policy, overhead } = prepared;
  const weigh = (message: Message): Weight => prepared.weighNow(message);
  const tokens = requestTokensOf({ overhead }, context.items);
  // The refused request counts with the size at which it was sent, because the context may have grown or shrunk since.
  const refused = refusedTokens ?? upperBoundTokens(tokens, prepared.limits.upperBoundFactor);
  const limits = reasons.includes('overflow') ? limitsAfterOverflow(prepared.limits, refused) : prepared.limits;
  const first = firstUserSeq === undefined ? {} : { firstUserSeq };
  return { context, policy, limits, overhead, reasons, weigh, ...first };
}

const CHUNK = 16;

/**
 * Finds the seq of the log's first user message. The search starts at seq 1, because that message is nearly always
 * among the first two.
 */
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
