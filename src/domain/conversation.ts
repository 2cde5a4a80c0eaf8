import type { OpenCall } from './history.ts';
import type { LeaveCause } from './leaving.ts';
import type { RequestFacts } from './request-facts.ts';
import type { SizeRecord } from './size.ts';
import type { TurnUsage } from './turn.ts';
import type { SeqRange } from './version.ts';

/** Log entries of a turn whose messages left the context when the turn was settled. */
export interface LeftRange extends SeqRange {
  readonly why: LeaveCause;
}

/** Tells why a message left the context when its turn was settled. */
export function findLeft(ranges: readonly LeftRange[], seq: number): { readonly left?: LeaveCause } {
  const range = ranges.find(({ from, to }) => from <= seq && seq <= to);
  return range === undefined ? {} : { left: range.why };
}

/** Snapshot of a conversation without its messages. It holds everything that decides whether to compact. */
export interface ConversationState {
  readonly agent: string;
  /** Opaque. A conversation that is created again under the same id, after an erase, has another value. */
  readonly incarnation: string;
  /** Sequence number of the last log entry. 0 for an empty log. */
  readonly head: number;
  /**
   * Number of user messages in the log, appended ones included. A queued turn counts once a worker writes its user
   * message. `turnThreshold` compares this number with its value after the last compaction pass.
   */
  readonly turns: number;
  /** Tool calls without a result. */
  readonly openCalls: readonly OpenCall[];
  /**
   * Log entries of settled turns that must leave the context before the next turn begins, oldest first. Absent if there
   * are none.
   */
  readonly undo?: readonly SeqRange[];
  /** Log entries of the last 64 turns whose messages left the context, oldest first. Absent if there are none. */
  readonly left?: readonly LeftRange[];
  /** Usage of all settled turns and of all summaries, as providers counted it. Absent if none reported any. */
  readonly spent?: TurnUsage;
  /** Sizes and limits of the agent's requests at its last model call. Absent before the first one. */
  readonly requestFacts?: RequestFacts;
  /** Token and byte counts from which the size of the context is computed. */
  readonly size: SizeRecord;
  /** State of the log when the last compaction pass ended. `turnThreshold` and `messageThreshold` count from here. */
  readonly passed: {
    /** Sequence number of the last log entry when that pass ended. */
    readonly head: number;
    /** Number of user messages when that pass ended. */
    readonly turns: number;
  };
  /** Context sizes below which workers request no soft compaction pass, because recent passes gained too little. */
  readonly backoff: Backoff;
  /** Id of the compaction pass that is requested or in progress. */
  readonly passId?: string;
  /** Context version that a provider refused. No later compaction pass commits the same segments. */
  readonly quarantine?: Quarantine;
  /** Present while a fork copies messages into this conversation, whose log is incomplete until the fork ends. */
  readonly isForking?: true;
  /**
   * Newest context version that a model answered, with or without a usage report. If a provider refuses a later
   * request, this version is not rolled back.
   */
  readonly answeredVersion?: number;
  /** True if turns with `onBusy: 'steer'` may wait for the next model call of the running turn. */
  readonly isSteered?: true;
  /** Milliseconds without activity after which the conversation is erased, from the policy of the last write. */
  readonly conversationTtl?: number;
}

/** Snapshot without what the worker knows already or does not need. A turn may have 1,000 open tool calls. */
export type StepState = Omit<
  ConversationState,
  'incarnation' | 'openCalls' | 'undo' | 'left' | 'spent' | 'requestFacts'
>;

/**
 * Marks a context version that a provider refused, so that no later compaction pass commits the same segments again.
 */
export interface Quarantine {
  /** Number of the version that replaced the refused one. While this version is current, compaction uses no models. */
  readonly version: number;
  /** Hash of the refused version's segments. */
  readonly segments: string;
}

/**
 * Context sizes in tokens below which workers request no soft compaction pass, because the last passes gained too
 * little.
 */
export interface Backoff {
  /** Size below which a compaction pass would again find nothing to remove. 0 if there is no such size. */
  readonly nothingBelowTokens: number;
  /** Number of compaction passes in a row that gained too little. The third one starts a backoff. */
  readonly gainlessPasses: number;
  /** Size below which a compaction pass would again gain too little. 0 if there is no such size. */
  readonly noGainBelowTokens: number;
  /**
   * If all messages together have fewer tokens than this, appending messages requests no compaction pass. The value is
   * the larger of the two backoff sizes, or the hard limit if that is lower. An append knows only the messages, not the
   * system prompt and tools. Absent: every append can request a pass.
   */
  readonly appendsBelowMessageTokens?: number;
}

export const NO_BACKOFF: Backoff = { nothingBelowTokens: 0, gainlessPasses: 0, noGainBelowTokens: 0 };

/** Counts the messages and user messages that were added since the last compaction pass ended. */
export function sinceLastPass(state: Pick<ConversationState, 'head' | 'turns' | 'passed'>): {
  messages: number;
  turns: number;
} {
  return { messages: state.head - state.passed.head, turns: state.turns - state.passed.turns };
}

export const CONVERSATION_STATES = ['idle', 'queued', 'running', 'waiting', 'failed'] as const;

/** States of a turn that has ended. */
export const SETTLED_STATES = ['completed', 'failed', 'canceled'] as const;

/**
 * State of a conversation in a list. `queued`, `running` and `waiting` describe its oldest unsettled turn. If it has
 * none, the state is `failed` if its last turn failed, or else `idle`. Scheduled turns count only after their due time.
 */
export type ListedState = (typeof CONVERSATION_STATES)[number];
