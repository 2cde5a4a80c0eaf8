import type { OpenCall } from './history.ts';
import type { SizeRecord } from './size.ts';

/** What one read of a conversation tells: enough for the backoff, without its messages. */
export interface ConversationState {
  /** name of its agent */
  readonly agent: string;
  /** seq of the last log entry; 0 for an empty log */
  readonly head: number;
  /** user messages in the log */
  readonly turns: number;
  /** calls of tools that have no result yet */
  readonly openCalls: readonly OpenCall[];
  /** what it weighs */
  readonly size: SizeRecord;
  /** where the last pass ended; thresholds of turns and messages count from here */
  readonly passed: {
    /** the log's end then */ readonly head: number;
    /** user messages until then */

    readonly turns: number;
  };
  /** when soft passes are not asked for */
  readonly backoff: Backoff;
  /** the pass that is requested or in progress */
  readonly passId?: string;
  /** what no pass commits again */
  readonly quarantine?: Quarantine;
  /** it is being copied: what is there so far is not all of it */
  readonly isForking?: true;
  /** the newest version over which a model answered, whether it told its usage or not; never rolled back for its form */
  readonly answeredVersion?: number;
  /** ms for which it may rest before it is erased, as a policy gave it last */
  readonly conversationTtl?: number;
}

/** A conversation's state without its open calls. A worker knows these calls, and a turn may have 1,000 of them. */
export type StepState = Omit<ConversationState, 'openCalls'>;

/** What a provider refused. */
export interface Quarantine {
  /** number of the version that was put over it; while that one is live, passes go without a model */
  readonly version: number;
  /** hash of the refused version's segments */
  readonly segments: string;
}

/** When a soft pass is not even asked for. Sizes in tokens. */
export interface Backoff {
  /** an evaluation found nothing to do: shut below this size; 0 where open */
  readonly nothingBelowTokens: number;
  /** passes in a row that gained too little; three open the breaker */
  readonly gainlessPasses: number;
  /** the breaker: no soft pass below this size; 0 where closed */
  readonly noGainBelowTokens: number;
  /**
   * What both come to, or the hard limit before them, in tokens of the messages alone: for who appends, and does not know what
   * else a request holds. Absent: an append asks for a pass at once.
   */
  readonly appendsBelowMessageTokens?: number;
}

export const NO_BACKOFF: Backoff = { nothingBelowTokens: 0, gainlessPasses: 0, noGainBelowTokens: 0 };

/** What has come since the last pass ended. */
export function sinceLastPass(state: Pick<ConversationState, 'head' | 'turns' | 'passed'>): {
  messages: number;
  turns: number;
} {
  return { messages: state.head - state.passed.head, turns: state.turns - state.passed.turns };
}
