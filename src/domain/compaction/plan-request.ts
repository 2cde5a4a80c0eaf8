import type { Context } from '../context.ts';
import type { Policy } from '../policy.ts';
import type { Weigh } from './clip.ts';
import type { Budget } from './request-size.ts';

/** What a pass is planned and settled over. */
export interface PlanRequest extends Budget {
  readonly context: Context;
  readonly policy: Policy;
  /** seq of the log's first user message */
  readonly firstUserSeq?: number;
  /** for what is clipped: a message of at most some thousand tokens, exactly */
  readonly weigh: Weigh;
}
