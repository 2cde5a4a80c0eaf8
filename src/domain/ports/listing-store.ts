import type { ConversationRef, NamedConversation } from '../ids.ts';
import type { AnswerKind, Waiting, WaitKind } from '../turn.ts';

export const CONVERSATION_STATES = ['idle', 'queued', 'running', 'waiting', 'failed'] as const;

/** How a turn can end. */
export const SETTLED_STATES = ['completed', 'failed', 'canceled'] as const;

/**
 * `queued`, `running` and `waiting` are the state of the turn at the head of the mailbox. Without one: `failed` if the last
 * settled turn failed, else `idle`. Scheduled turns do not count before they are due.
 */
export type ConversationStanding = (typeof CONVERSATION_STATES)[number];

/** A conversation of a list, without its messages. Other calls take it as the conversation's name. */
export interface ListedConversation extends NamedConversation {
  /** name of the agent whose conversation it is */
  readonly agent: string;
  /** by the turn at the head of the mailbox, or by the last settled turn */
  readonly state: ConversationStanding;
  /** seq of the last log entry: how many messages the log has */
  readonly head: number;
  /** user messages in the log */
  readonly turns: number;
  /** accepted turns that are not settled, the one at work or waiting included; scheduled ones not */
  readonly mailbox: number;
  /** of a waiting conversation: what its turn waits for */
  readonly waitsFor?: WaitKind;
  /** how the last settled turn ended, and when, in ms since epoch; absent before the first */
  readonly lastTurn?: {
    /** how it ended */
    readonly state: (typeof SETTLED_STATES)[number];
    /** ms since epoch, by the store's clock */
    readonly settledAt: number;
  };
  /** the conversation is being copied: not all of it is there yet */
  readonly isForking?: true;
}

/** A turn that waits for results from outside, or for a person's decisions. `answer` and `cancel` take it as the conversation's name. */
export interface WaitingTurn extends NamedConversation {
  /** id of the turn, for `answer` and `cancel` */
  readonly turn: string;
  /** name of the agent that made the calls */
  readonly agent: string;
  /** the calls with their arguments, since when the turn waits, and the deadlines */
  readonly waiting: Waiting & {
    /** `tools`: results from outside; `approval`: decisions of a person */
    readonly for: AnswerKind;
  };
}

/** Where a waiting turn stands in the list. */
export interface WaitingPosition {
  readonly conversation: ConversationRef;
  readonly for: AnswerKind;
  readonly turn: string;
}

/** A part of a list, which is in one order for as long as it exists: that of the shards, then of the names. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[];
  /** where the next page begins; absent at the end. A page may have fewer items than asked for, or none, and a next one */
  readonly next?: Position;
}

interface ListQuery<Position> {
  /** absent: all tenants */
  readonly tenant?: string;
  /** what comes behind it, whether it is still listed or not; absent: from the beginning */
  readonly after?: Position;
  readonly limit: number;
}

export interface ConversationQuery extends ListQuery<ConversationRef> {
  readonly agent?: string;
  readonly state?: ConversationStanding;
}

export interface WaitingQuery extends ListQuery<WaitingPosition> {
  /** absent: both kinds */
  readonly for?: AnswerKind;
}

/** Lists over all conversations. Each call looks at a bounded number of entries. */
export interface ListingStore {
  listConversations(query: ConversationQuery): Promise<ListPage<ListedConversation, ConversationRef>>;
  listWaiting(query: WaitingQuery): Promise<ListPage<WaitingTurn, WaitingPosition>>;
}
