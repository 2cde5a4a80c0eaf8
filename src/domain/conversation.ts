import type { OpenCall } from './history.ts';
import type { LeaveCause } from './message.ts';
import type { RequestFacts } from './request-facts.ts';
import type { SizeRecord } from './size.ts';
import type { TurnUsage } from './turn.ts';
import type { SeqRange } from './version.ts';

export interface LeftRange extends SeqRange {
  readonly why: LeaveCause;
}

export function findLeft(ranges: readonly LeftRange[], seq: number): { readonly left?: LeaveCause } {
  const range = ranges.find(({ from, to }) => from <= seq && seq <= to);
  return range === undefined ? {} : { left: range.why };
}

/** State of a conversation, without its messages, by which turnfold decides whether to compact. */
export interface ConversationState {
  readonly agent: string;
  /** Opaque value, which changes if a conversation is erased and created again. */
  readonly incarnation: string;
  /** Seq of the last log entry. 0 for an empty log. */
  readonly head: number;
  /** User messages in the log, appended ones included. A queued turn counts once a worker writes its message. */
  readonly turns: number;
  /** Tool calls without a result. */
  readonly openCalls: readonly OpenCall[];
  /** Log entries of settled turns that must leave the context before the next turn begins, oldest first. */
  readonly undo?: readonly SeqRange[];
  /** The last 64 turns whose messages left the context, oldest first. */
  readonly left?: readonly LeftRange[];
  /** Token usage of all settled turns and all summaries. Absent if no provider reported usage. */
  readonly spent?: TurnUsage;
  /** Facts recorded with the agent's last model call. Absent before the first call. */
  readonly requestFacts?: RequestFacts;
  /** Token and byte counts from which the size of the context is computed. */
  readonly size: SizeRecord;
  /** Position of the log when the last pass ended. `turnThreshold` and `messageThreshold` count from this position. */
  readonly passed: {
    /** Seq of the last log entry when that pass ended. */
    readonly head: number;
    /** User messages when that pass ended. */
    readonly turns: number;
  };
  /** Current backoff of soft compaction. */
  readonly backoff: Backoff;
  readonly passId?: string;
  /** Segments of a version that a provider refused. No later pass commits the same segments. */
  readonly quarantine?: Quarantine;
  /** Present while a fork copies messages into this conversation. The log is then incomplete. */
  readonly isForking?: true;
  /** Newest version that a model answered. If a provider refuses a later request, this version is not rolled back. */
  readonly answeredVersion?: number;
  /** True if turns with `onBusy: 'steer'` may wait for the next model call of the running turn. */
  readonly isSteered?: true;
  /** Idle TTL in ms, from the policy of the last write. */
  readonly conversationTtl?: number;
}

/** State that a worker reads for a step, without the long lists: a turn may have 1,000 open calls. */
export type StepState = Omit<
  ConversationState,
  'incarnation' | 'openCalls' | 'undo' | 'left' | 'spent' | 'requestFacts'
>;

export interface Quarantine {
  /** Version that replaced the refused one. While this version is current, compaction uses no models. */
  readonly version: number;
  /** Hash of the refused segments. */
  readonly segments: string;
}

/**
 * No soft pass is requested below these sizes in tokens, because the last passes gained too little. 0: no such size.
 */
export interface Backoff {
  /** Below this size, a pass would again find nothing to remove. */
  readonly nothingBelowTokens: number;
  /** Passes in a row that gained too little. The third one starts a backoff. */
  readonly gainlessPasses: number;
  /** Below this size, a pass would again gain too little. */
  readonly noGainBelowTokens: number;
  /**
   * An append requests no pass while all messages together have fewer tokens. Absent: every append can request a pass.
   */
  readonly appendsBelowMessageTokens?: number;
}

export const NO_BACKOFF: Backoff = { nothingBelowTokens: 0, gainlessPasses: 0, noGainBelowTokens: 0 };

export function sinceLastPass(state: Pick<ConversationState, 'head' | 'turns' | 'passed'>): {
  messages: number;
  turns: number;
} {
  return { messages: state.head - state.passed.head, turns: state.turns - state.passed.turns };
}

export const CONVERSATION_STATES = ['idle', 'queued', 'running', 'waiting', 'failed'] as const;

/** A scheduled turn counts after its due time. The oldest unsettled turn decides `queued`, `running` and `waiting`. */
export type ListedState = (typeof CONVERSATION_STATES)[number];
