import type { OpenCall } from './history.ts';
import type { SizeRecord } from './size.ts';

/** Snapshot of a conversation, without its messages. The threshold check needs no more. */
export interface ConversationState {
  readonly agent: string;
  /** Seq of the last log entry. 0 for an empty log. */
  readonly head: number;
  /**
   * User messages in the log, appended ones included. A turn counts once its first claim writes its user message.
   * `turnThreshold` compares this count with that of the last pass.
   */
  readonly turns: number;
  /** Tool calls that have no result yet. */
  readonly openCalls: readonly OpenCall[];
  /** Figures from which the size of the context follows. */
  readonly size: SizeRecord;
  /** Log at the end of the last pass. Thresholds of turns and messages count from here. */
  readonly passed: {
    /** Seq of the last log entry at that time. */
    readonly head: number;
    /** `turns` at that time. */
    readonly turns: number;
  };
  /** Sizes below which no soft pass is requested. */
  readonly backoff: Backoff;
  /** Id of the pass that is requested or in progress. */
  readonly passId?: string;
  /** Version that a provider refused. No pass commits its segments again. */
  readonly quarantine?: Quarantine;
  /** Set while a fork copies messages into this conversation, which is incomplete until then. */
  readonly isForking?: true;
  /**
   * Newest version over which a model answered, with or without a usage report. A refusal never rolls back this
   * version.
   */
  readonly answeredVersion?: number;
  /** Milliseconds of idle time after which the conversation is erased, as the last policy set it. */
  readonly conversationTtl?: number;
}

/** Snapshot without open calls. A worker knows these calls, and a turn may have 1,000 of them. */
export type StepState = Omit<ConversationState, 'openCalls'>;

/** Marks a version that a provider refused, so that no later pass makes the same version again. */
export interface Quarantine {
  /** Number of the version that replaced the refused one. While it is live, passes use no model. */
  readonly version: number;
  /** Hash of the refused version's segments. */
  readonly segments: string;
}

/** Sizes in tokens below which no soft pass is requested, because the last passes gained nothing or too little. */
export interface Backoff {
  /** Size below which the last evaluation would find nothing to do again. 0: no such limit. */
  readonly nothingBelowTokens: number;
  /** Consecutive passes that gained too little. The third starts a backoff. */
  readonly gainlessPasses: number;
  /** Size below which a pass would gain too little again. 0: no such limit. */
  readonly noGainBelowTokens: number;
  /**
   * Size of the messages alone below which an append requests no pass: the larger backoff, or the hard limit if that is
   * lower. An append does not know what else a request holds. Absent: every append may request a pass.
   */
  readonly appendsBelowMessageTokens?: number;
}

export const NO_BACKOFF: Backoff = { nothingBelowTokens: 0, gainlessPasses: 0, noGainBelowTokens: 0 };

/** Counts what was added since the last pass ended. */
export function sinceLastPass(state: Pick<ConversationState, 'head' | 'turns' | 'passed'>): {
  messages: number;
  turns: number;
} {
  return { messages: state.head - state.passed.head, turns: state.turns - state.passed.turns };
}
