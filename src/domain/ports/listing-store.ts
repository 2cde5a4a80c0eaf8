import type { ConversationRef, NamedConversation } from '../ids.ts';
import type { AnswerKind, Waiting, WaitKind } from '../turn.ts';

export const CONVERSATION_STATES = ['idle', 'queued', 'running', 'waiting', 'failed'] as const;

/** Final states of a turn. */
export const SETTLED_STATES = ['completed', 'failed', 'canceled'] as const;

/**
 * State of a conversation in a list. `queued`, `running` and `waiting` are the state of the turn at the head of the
 * mailbox. With an empty mailbox the state is `failed` if the last settled turn failed, else `idle`. Scheduled turns
 * count once they are due.
 */
export type ListedState = (typeof CONVERSATION_STATES)[number];

/** A conversation in a list, without its messages. Other calls accept it as the address of the conversation. */
export interface ListedConversation extends NamedConversation {
  readonly agent: string;
  /** State of the turn at the head of the mailbox, or of the last settled turn. */
  readonly state: ListedState;
  /** Seq of the last log entry, which is the number of messages in the log. */
  readonly head: number;
  /** User messages in the log, appended ones included. */
  readonly turns: number;
  /** Accepted and unsettled turns, including the running or waiting one, without scheduled turns. */
  readonly mailbox: number;
  /** Kind of wait, if the turn at the head waits. */
  readonly waitsFor?: WaitKind;
  /** Result of the last settled turn. Absent before the first one. */
  readonly lastTurn?: {
    readonly state: (typeof SETTLED_STATES)[number];
    /** Time of the settlement in ms since epoch, by the store's clock. */
    readonly settledAt: number;
  };
  /** Set while a fork copies messages into this conversation, which is incomplete until then. */
  readonly isForking?: true;
}

/** A turn that waits for results from outside or for a person. `answer` and `cancel` accept it as the address. */
export interface WaitingTurn extends NamedConversation {
  /** Id of the turn, for `answer` and `cancel`. */
  readonly turn: string;
  readonly agent: string;
  /** Waiting calls with their arguments, start of the wait, and deadlines. */
  readonly waiting: Waiting & {
    /** Kind of wait: `tools` for results from outside, `approval` for decisions of a person. */
    readonly for: AnswerKind;
  };
}

/** Position of a waiting turn in the list. */
export interface WaitingPosition {
  readonly conversation: ConversationRef;
  readonly for: AnswerKind;
  readonly turn: string;
}

/** A page of a list. The order is fixed for the life of the list: by shard, then by name. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[];
  /** Position of the next page. Absent at the end. A page with a next one may be short or empty. */
  readonly next?: Position;
}

interface ListQuery<Position> {
  /** Tenant to list. Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Position after which the page starts, even if its item is gone. Absent: the start of the list. */
  readonly after?: Position | undefined;
  readonly limit: number;
}

export interface ConversationQuery extends ListQuery<ConversationRef> {
  readonly agent?: string | undefined;
  readonly state?: ListedState | undefined;
}

export interface WaitingQuery extends ListQuery<WaitingPosition> {
  /** Kind of wait. Absent: both kinds. */
  readonly for?: AnswerKind | undefined;
}

/** Lists over all conversations. Each call examines a bounded number of entries. */
export interface ListingStore {
  listConversations(query: ConversationQuery): Promise<ListPage<ListedConversation, ConversationRef>>;
  listWaiting(query: WaitingQuery): Promise<ListPage<WaitingTurn, WaitingPosition>>;
}
