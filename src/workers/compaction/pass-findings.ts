import { requestTokens } from '../../domain/compaction/budget.ts';
import type { PlanRequest } from '../../domain/compaction/plan.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import { type Context, weighItems } from '../../domain/context.ts';
import { limitsAfterOverflow } from '../../domain/limits.ts';
import type { Message, Weight } from '../../domain/message.ts';
import { upperBoundTokens } from '../../domain/size.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** What a pass found besides the context. */
export interface PassFindings {
  /** seq of the log's first user message */
  readonly firstUserSeq: number | undefined;
  /** upper bound of a request that its provider refused as too long */
  readonly refusedTokens?: number | undefined;
}

/** What is planned and settled over: a context under the limits that hold for these reasons. */
export function planRequest(
  prepared: PreparedAgent,
  context: Context,
  reasons: readonly Reason[],
  { firstUserSeq, refusedTokens }: PassFindings,
): PlanRequest {
  const { policy, overhead, limits: given } = prepared;
  const weigh = (message: Message): Weight => prepared.weighNow(message);
  const tokens = requestTokens({ overhead }, weighItems(context.items).tokens);
  // What has come since, and what a pass took away meanwhile, says nothing of the request that was refused.
  const refused = refusedTokens ?? upperBoundTokens(tokens, given.upperBoundFactor);
  const limits = reasons.includes('overflow') ? limitsAfterOverflow(given, refused) : given;
  const first = firstUserSeq === undefined ? {} : { firstUserSeq };
  return { context, policy, limits, overhead, reasons, weigh, ...first };
}
