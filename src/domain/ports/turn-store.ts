import type { ConversationState, StepState } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef, NamedConversation, TraceParent } from '../ids.ts';
import type { Message, WeighedMessage } from '../message.ts';
import type { IdleTtl } from '../policy.ts';
import type { SizeAnchor } from '../size.ts';
import type { AnswerEnd, StepRecord, TurnFailure, TurnState, TurnView, Waiting, WaitRequest } from '../turn.ts';
import type { Version } from '../version.ts';
import type { AnswerRequest, AnswerResult } from './turn-answers.ts';
import type { Forking } from './version-store.ts';

/** Proof that a worker owns a turn. Every write of the turn carries it (I4). */
export interface TurnLease {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly owner: string;
  /** Number that fences earlier owners. A write with another epoch than the conversation's is answered `fenced`. */
  readonly epoch: number;
}

/** How a worker loses its turn: to another owner (`fenced`), by an erase (`gone`), or by a cancelation. */
export const LOSSES = ['fenced', 'gone', 'canceled'] as const;
/** Answer to a worker that lost its turn. It may write nothing more. */
export type Lost = { readonly status: (typeof LOSSES)[number] };

export function isLost(result: { readonly status: string }): result is Lost {
  return LOSSES.some((status) => status === result.status);
}

/** A turn to accept. */
export interface AcceptRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly agent: string;
  /** User message of the turn, weighed. */
  readonly input: WeighedMessage;
  /** Hash of the caller's payload. The same turn id with another hash is a conflict. */
  readonly payloadHash: string;
  /** Id of the wake that is recorded if one is needed. Fresh for each call. */
  readonly wake: string;
  /** Milliseconds for which the turn stays `scheduled`. Absent or 0: due at once. */
  readonly delayMs?: number | undefined;
  readonly maxQueuedTurns: number;
  /** Span of the caller that enqueues the turn. */
  readonly askedIn?: TraceParent | undefined;
  /** Context of the turn, as `writeContext` wrote it. Kept until the turn settles. */
  readonly context?: string | undefined;
  /** Failed turn of the conversation whose input this one repeats. Another turn is refused. */
  readonly redriveOf?: string;
}

export type AcceptResult =
  /** `known`: this turn was accepted before. `needsWake`: the caller adds the wake of the request. */
  | { readonly status: 'accepted' | 'known'; readonly state: TurnState; readonly needsWake: boolean }
  | { readonly status: 'conflict' }
  | Forking
  /** The conversation belongs to the named agent. */
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'full'; readonly queued: number }
  /** The turn to re-drive has not failed. Absent `state`: there is no such turn. */
  | { readonly status: 'not_failed'; readonly state?: TurnState };

/** Selects failed turns. Their records are kept as long as those of all settled turns. */
export interface FailedQuery {
  /** Earliest time of the settlement in ms since epoch. */
  readonly since: number;
  readonly tenant?: string | undefined;
  readonly code?: string | undefined;
  readonly limit: number;
}

/** A failed turn in a list. */
export interface FailedTurn extends NamedConversation {
  readonly turn: string;
  readonly agent: string;
  /** Time of the failure in ms since epoch, by the store's clock. */
  readonly failedAt: number;
  readonly failure: TurnFailure;
  /** Failed turn whose input this turn repeated. */
  readonly redriveOf?: string;
  /** Latest turn that repeated this turn's input. */
  readonly redrivenAs?: string;
}

/** An accepted turn that is not settled. */
export interface OpenTurn {
  readonly turn: string;
  readonly state: 'scheduled' | 'queued' | 'running' | 'waiting';
  /** Time of the acceptance in ms since epoch. */
  readonly acceptedAt: number;
  /** Time at which a scheduled turn enters the mailbox, in ms since epoch. */
  readonly dueAt?: number;
  /** Wait of a waiting turn, which is the first of the mailbox. */
  readonly waiting?: Waiting;
}

/** Snapshot of the open turns of a conversation. */
export interface OpenTurns {
  /**
   * Open turns in the order of their answers. Scheduled turns follow those of the mailbox, ordered by their next sweep:
   * at their due time, unless a sweep postponed them.
   */
  readonly turns: readonly OpenTurn[];
  /** Turns in the mailbox, including the running or waiting one. `turns` may show fewer. */
  readonly mailbox: number;
  /** Turns that are not due yet. */
  readonly scheduled: number;
}

/** The head turn of a mailbox, with everything that its owner needs to continue. */
export interface ClaimedTurn {
  readonly lease: TurnLease;
  readonly agent: string;
  /**
   * Claims without an outcome, including this one and the claim that recorded the last outcome. At `maxAttempts` the
   * turn may only run alone in its process.
   */
  readonly attempt: number;
  /** True for the first claim since the acceptance or the last suspension, also if that claim is repeated. */
  readonly isFirstClaim: boolean;
  readonly acceptedAt: number;
  /** Time from which the turn could run: its acceptance, or the due time of a scheduled turn. By the store's clock. */
  readonly dueAt: number;
  readonly askedIn?: TraceParent;
  /** Time of the claim by the store's clock, like all times of the log. */
  readonly claimedAt: number;
  readonly inputSeq: number;
  /** User message, if it is the last entry of the log. A worker that knows the earlier log need not read it. */
  readonly input?: Message;
  readonly conversation: ConversationState;
  /** Mark of a turn with a context, which `readBriefing` reads. */
  readonly hasContext?: true;
  readonly steps: ReadonlyMap<string, StepRecord>;
  /**
   * Wait that this claim ends, and the number of recorded steps at its start. `isFulfilled` is false if a deadline
   * passed, or if the pass did not settle the size (I13).
   */
  readonly waited?: Waiting &
    Pick<WaitRequest, 'suspendedIn'> & { readonly isFulfilled: boolean; readonly steps: number };
  /** Answers and approvals that arrived during the wait, by call id: JSON as `answerTurn` received it. */
  readonly answers: ReadonlyMap<string, string>;
}

export type ClaimResult =
  | { readonly status: 'claimed'; readonly turn: ClaimedTurn }
  | { readonly status: 'empty' | 'gone' }
  /** Another worker's lease is valid, or the head turn waits. Nothing can be claimed before `untilMs`. */
  | { readonly status: 'held' | 'waiting'; readonly untilMs: number }
  /** The head turn was settled as `poison`. The caller adds the wake if there is one. */
  | { readonly status: 'poison'; readonly turn: string; readonly wake?: string };

/** Result of a step, to be recorded. */
export interface StepOutcome {
  readonly key: string;
  /** Messages to append, in this order. May be empty. */
  readonly messages: readonly WeighedMessage[];
  /**
   * Head from which the ids of new calls were derived. If the head has moved, the answer is `fenced`. Absent for tool
   * results.
   */
  readonly expectedHead?: number;
  /** Calls that the messages open. */
  readonly opens: readonly OpenCall[];
  /** Ids of calls that the messages answer. */
  readonly closes: readonly string[];
  /** Full texts of clipped messages, by hash. */
  readonly fullTexts?: ReadonlyMap<string, string>;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /**
   * Provider's count of the whole request, if it counted it, and the version that was sent. Another may be live by now.
   */
  readonly anchor?: Pick<SizeAnchor, 'tokens' | 'version' | 'fingerprint'>;
  /** Version over which the model answered. It is never rolled back from then on. */
  readonly answeredVersion?: number;
  /** Tokens of the model call's request by our own count, stored with the turn. */
  readonly requestTokens?: number;
  /** End of an incomplete answer. The answer is the first of the messages. */
  readonly end?: AnswerEnd;
}

export type StepResult =
  /** `known`: an earlier delivery recorded the step. Nothing was appended. */
  { readonly status: 'recorded' | 'known'; readonly conversation: StepState } | Lost;

/** How a turn settles. */
export type TurnSettlement = IdleTtl &
  (
    | { readonly state: 'completed'; readonly answerSeq: number; readonly end?: AnswerEnd }
    | { readonly state: 'failed'; readonly failure: TurnFailure }
  );

export type SettleResult =
  | {
      readonly status: 'settled' | 'known';
      readonly hasNext: boolean;
      /** Wake of the next turn, which the caller adds. */
      readonly wake?: string;
      /** Next turn, claimed by the same write. */
      readonly next?: ClaimedTurn;
    }
  | Lost;

/** A version that replaces one that a provider refused. */
export interface VersionRollback {
  /** The refused version. If another is live, the answer is `version_changed` and nothing is written. */
  readonly expectedVersion: number;
  /** Version whose segments the new one shows: its own number, unless it replaced a refused one itself. */
  readonly shownVersion: number;
  readonly version: Version;
  /** Hash of the refused segments. No later pass commits the same segments. */
  readonly refusedSegments: string;
  readonly keepVersions: number;
}

export type RollbackResult =
  | { readonly status: 'rolled_back' | 'known'; readonly conversation: ConversationState }
  | { readonly status: 'version_changed'; readonly version: number }
  /** A model answered over the refused segments before, so their form was not the problem. Nothing was written. */
  | { readonly status: 'answered' }
  | Lost;

export type CancelResult =
  | { readonly status: 'canceled'; readonly wake?: string }
  /** The turn was settled before, in this state. */
  | { readonly status: 'settled'; readonly state: TurnState }
  | { readonly status: 'not_found' };

/** Acceptance, cancelation and views of turns, for services. */
export interface TurnIntake {
  accept(request: AcceptRequest): Promise<Acknowledged<AcceptResult>>;
  answerTurn(request: AnswerRequest): Promise<Acknowledged<AnswerResult>>;
  cancel(conversation: ConversationRef, turn: string, wake: string): Promise<Acknowledged<CancelResult>>;
  readTurn(conversation: ConversationRef, turn: string): Promise<TurnView | undefined>;
  /** Lists failed turns of all conversations, newest first. */
  listFailed(query: FailedQuery): Promise<FailedTurn[]>;
  /**
   * Lists the first `limit` open turns of a conversation.
   * @returns undefined if there is no such conversation
   */
  listOpen(conversation: ConversationRef, limit: number): Promise<OpenTurns | undefined>;
}

/** Data that a worker needs for a turn, besides its claim. */
export interface Briefing {
  /** Context from the caller, as JSON. */
  readonly context?: string;
  /** System prompt that a function wrote for this turn. */
  readonly system?: string;
}

export type KeepSystemResult = { readonly status: 'kept'; readonly system: string } | Lost;

/** Turns, for turn workers. Every write is fenced by the lease (I4) and idempotent by its key (I5). */
export interface TurnStore {
  /**
   * Claims the head turn of a mailbox.
   * @param wake id of a wake, recorded and answered if the head is settled as poison and another turn follows
   */
  claim(conversation: ConversationRef, owner: string, wake: string): Promise<ClaimResult>;
  /** Records the start of steps in one write. Known steps do not change. */
  startSteps(lease: TurnLease, keys: readonly string[]): Promise<{ readonly status: 'recorded' } | Lost>;
  /** Reads the context and the system prompt of an open turn. */
  readBriefing(conversation: ConversationRef, turn: string): Promise<Briefing>;
  /** Stores the system prompt of the turn. The first one stays and is returned. */
  keepSystem(lease: TurnLease, system: string): Promise<KeepSystemResult>;
  recordStep(lease: TurnLease, outcome: StepOutcome): Promise<StepResult>;
  /**
   * Gives the lease back and keeps the turn at the head. `exhausted`: too many suspensions of the step, nothing was
   * written.
   */
  suspend(lease: TurnLease, wait: WaitRequest): Promise<{ readonly status: 'suspended' | 'exhausted' } | Lost>;
  heartbeat(lease: TurnLease): Promise<{ readonly status: 'held' } | Lost>;
  /** Hands the turn back when a worker stops. The claim does not count as an attempt (I9). The caller adds the wake. */
  release(lease: TurnLease, wake: string): Promise<{ readonly status: 'released' } | Lost>;
  /**
   * Records that nothing else runs in the owner's process from now on. Only such a claim can make a turn poison (I10).
   */
  startAlone(lease: TurnLease): Promise<{ readonly status: 'recorded' } | Lost>;
  rollBackVersion(lease: TurnLease, rollback: VersionRollback): Promise<RollbackResult>;
  /**
   * Settles the turn.
   * @param wake id of a wake, recorded and answered if another turn follows. Undefined: the owner claims that turn instead
   */
  settle(lease: TurnLease, settlement: TurnSettlement, wake: string | undefined): Promise<SettleResult>;
}
