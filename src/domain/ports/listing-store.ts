import type { ConversationRef, NamedConversation } from '../ids.ts';
import type { AnswerKind, TurnUsage, Waiting, WaitKind } from '../turn.ts';

export const CONVERSATION_STATES = ['idle', 'queued', 'running', 'waiting', 'failed'] as const;

/** States of a turn that has ended. */
export const SETTLED_STATES = ['completed', 'failed', 'canceled'] as const;

/**
 * State of a conversation in a list. `queued`, `running` and `waiting` describe its oldest unsettled turn. If it has
 * none, the state is `failed` if its last turn failed, or else `idle`. Scheduled turns count only after their due time.
 */
export type ListedState = (typeof CONVERSATION_STATES)[number];

/** A conversation in a list, without its messages. Other client calls accept it as the name of the conversation. */
export interface ListedConversation extends NamedConversation {
  readonly agent: string;
  /** State of the oldest unsettled turn, or of the last settled one. */
  readonly state: ListedState;
  /** Sequence number of the last log entry, which equals the number of messages in the log. */
  readonly head: number;
  /** Number of user messages in the log, appended ones included. */
  readonly turns: number;
  /** Number of unsettled turns, including the running or waiting one, without scheduled turns. */
  readonly mailbox: number;
  /** Present if the oldest unsettled turn waits: the kind of its wait. */
  readonly waitsFor?: WaitKind;
  /** State and time of the last settled turn. Absent before the first one. */
  readonly lastTurn?: {
    readonly state: (typeof SETTLED_STATES)[number];
    /** Time when the turn ended in ms since epoch, by the clock of Redis. */
    readonly settledAt: number;
  };
  /** Present while a fork copies messages into this conversation, whose log is incomplete until the fork ends. */
  readonly isForking?: true;
}

/**
 * A turn that waits for results from outside or for a person. The client calls `answer` and `cancel` accept it as the
 * name of the turn.
 */
export interface WaitingTurn extends NamedConversation {
  /** Id of the turn, for `answer` and `cancel`. */
  readonly turn: string;
  readonly agent: string;
  /** The waiting tool calls with their arguments and deadlines, and the start of the wait. */
  readonly waiting: Waiting & {
    /** Kind of wait: `tools` for results from outside, `approval` for decisions of a person. */
    readonly for: AnswerKind;
  };
}

/** Place of a waiting turn in the list, from which the next page continues. */
export interface WaitingPosition {
  readonly conversation: ConversationRef;
  readonly for: AnswerKind;
  readonly turn: string;
}

/** One page of a list. The order never changes while a caller pages through the list: by shard, then by name. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[];
  /** Position of the next page. Absent on the last page. A page before the last may have few items or none. */
  readonly next?: Position;
}

interface ListQuery<Position> {
  /** Tenant whose items are listed. Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Position after which the page starts, even if the item there no longer exists. Absent: the start of the list. */
  readonly after?: Position | undefined;
  readonly limit: number;
}

export interface ConversationQuery extends ListQuery<ConversationRef> {
  /** Only conversations whose id contains this text. */
  readonly idContains?: string | undefined;
  readonly agent?: string | undefined;
  readonly state?: ListedState | undefined;
}

export interface WaitingQuery extends ListQuery<WaitingPosition> {
  /** Kind of wait to list. Absent: both kinds. */
  readonly for?: AnswerKind | undefined;
}

/** Lists conversations and waiting turns. Each call examines a limited number of entries, however many exist. */
export interface ListingStore {
  listConversations(query: ConversationQuery): Promise<ListPage<ListedConversation, ConversationRef>>;
  listWaiting(query: WaitingQuery): Promise<ListPage<WaitingTurn, WaitingPosition>>;
  /** Reads the usage of all settled turns and summaries of a tenant, those of erased conversations included. */
  readTenantUsage(tenant: string): Promise<TurnUsage>;
}
