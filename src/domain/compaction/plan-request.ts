import type { Context } from '../context.ts';
import type { Policy } from '../policy.ts';
import type { Weigh } from './clip.ts';
import type { Budget } from './request-size.ts';

/** Input of a plan and of a settlement. */
export interface PlanRequest extends Budget {
  readonly context: Context;
  readonly policy: Policy;
  /** Seq of the log's first user message. */
  readonly firstUserSeq?: number;
  /** Exact count of a clipped message, which has at most some thousand tokens. */
  readonly weigh: Weigh;
}
