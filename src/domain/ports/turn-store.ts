import type { ConversationState, StepState } from '../conversation.ts';
import type { Told } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { IdleTtl } from '../idle-ttl.ts';
import type { ConversationRef, NamedConversation } from '../ids.ts';
import type { Message, WeighedMessage } from '../message.ts';
import type { SizeAnchor } from '../size.ts';
import type { TraceParent } from '../trace-parent.ts';
import type { AnswerEnd, StepRecord, TurnFailure, TurnState, TurnView, Waiting, WaitRequest } from '../turn.ts';
import type { Version } from '../version.ts';
import type { AnswerRequest, AnswerResult } from './turn-answers.ts';
import type { Forking } from './version-store.ts';

/** Proof of ownership that every write of a turn worker carries. */
export interface TurnLease {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly owner: string;
  /** fencing number; a write with another than the conversation's present one is `fenced` */
  readonly epoch: number;
}

/** How a worker loses its turn: to another owner (`fenced`), to an erase (`gone`), to whoever canceled it. */
export const LOSSES = ['fenced', 'gone', 'canceled'] as const;
/** An answer that ends the work of a worker that lost its turn. */
export type Lost = { readonly status: (typeof LOSSES)[number] };

export function isLost(result: { readonly status: string }): result is Lost {
  return LOSSES.some((status) => status === result.status);
}

export interface AcceptRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly agent: string;
  /** the user message, weighed */
  readonly input: WeighedMessage;
  /** hash of the payload as the caller sent it: the same turn id with another hash is a conflict */
  readonly payloadHash: string;
  /** id of the wake to be recorded where one is needed; fresh for each accept */
  readonly wake: string;
  /** ms from the acceptance, for which the turn is `scheduled`; absent or 0: due at once */
  readonly delayMs?: number;
  readonly maxQueuedTurns: number;
  /** the span of who enqueues it */
  readonly askedIn?: TraceParent | undefined;
  /** as `writeContext` wrote it: kept until the turn settles */
  readonly context?: string | undefined;
  /** a failed turn of the conversation, whose input this one brings again; any other is refused */
  readonly redriveOf?: string;
}

export type AcceptResult =
  | {
      readonly status: 'accepted' | 'known';
      readonly state: TurnState /** add the wake named in the request */;
      readonly needsWake: boolean;
    }
  | { readonly status: 'conflict' }
  | Forking
  /** the conversation is that agent's */
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'full'; readonly queued: number }
  /** the turn to re-drive; absent `state`: there is none */
  | { readonly status: 'not_failed'; readonly state?: TurnState };

/** Which failed turns to list. Their records are kept as long as those of all settled turns. */
export interface FailedQuery {
  /** ms since epoch: settled then or later */
  readonly since: number;
  readonly tenant?: string;
  readonly code?: string;
  readonly limit: number;
}

export interface FailedTurn extends NamedConversation {
  /** id of the turn */
  readonly turn: string;
  /** name of its agent */
  readonly agent: string;
  /** ms since epoch, by the store's clock */
  readonly failedAt: number;
  /** why */
  readonly failure: TurnFailure;
  /** the failed turn whose input it brought again */
  readonly redriveOf?: string;
  /** the turn that brought its input again last */
  readonly redrivenAs?: string;
}

/** A turn that is accepted and not settled. */
export interface OpenTurn {
  /** id of the turn */
  readonly turn: string;
  /** where it stands */
  readonly state: 'scheduled' | 'queued' | 'running' | 'waiting';
  /** ms since epoch */
  readonly acceptedAt: number;
  /** of a scheduled turn: when it goes to the tail of the mailbox, in ms since epoch */
  readonly dueAt?: number;
  /** of a waiting turn, which is the first one: what for, which calls, until when */
  readonly waiting?: Waiting;
}

/** Open turns of one conversation, as they stand at one moment. */
export interface OpenTurns {
  /** in the order in which they will be answered; behind those of the mailbox the scheduled ones, by when a sweep looks at them: when they are due, if none had to push them out */
  readonly turns: readonly OpenTurn[];
  /** how many the mailbox holds, the one at work or waiting included; more than `turns` may show */
  readonly mailbox: number;
  /** how many are not due yet */
  readonly scheduled: number;
}

/** The head turn of a mailbox, handed to its owner with all that it needs to go on. */
export interface ClaimedTurn {
  readonly lease: TurnLease;
  readonly agent: string;
  /**
   * claims without an outcome, this one included, and the claim that recorded the last outcome. `maxAttempts`: the turn may
   * only run alone in its process
   */
  readonly attempt: number;
  /** nobody has claimed the turn since it was accepted, or since it was last suspended; true if the claim is sent again */
  readonly isFirstClaim: boolean;
  readonly acceptedAt: number;
  /** when it could first be worked on: when it was accepted, or became due where it was scheduled. By the store's clock */
  readonly dueAt: number;
  readonly askedIn?: TraceParent;
  /** by the store's clock, as every time of the log is */
  readonly claimedAt: number;
  readonly inputSeq: number;
  /** the user message, while it is the log's last entry: whoever knows the log before it need not read it */
  readonly input?: Message;
  readonly conversation: ConversationState;
  /** its caller gave it a context, which `readBriefing` reads */
  readonly hasContext?: true;
  readonly steps: ReadonlyMap<string, StepRecord>;
  /**
   * what the turn was suspended for, if it was, and how many steps it had then; `isFulfilled` false: a deadline passed, that of the turn or of a call, or the
   * pass did not settle the size
   */
  readonly waited?: Waiting &
    Pick<WaitRequest, 'suspendedIn'> & { readonly isFulfilled: boolean; readonly steps: number };
  /** answers and approvals that came in while it waited, by call id: JSON as brought by `resume` */
  readonly answers: ReadonlyMap<string, string>;
}

export type ClaimResult =
  | { readonly status: 'claimed'; readonly turn: ClaimedTurn }
  | { readonly status: 'empty' | 'gone' }
  /** another owner's lease is valid, or the head waits: nothing to do before `untilMs` */
  | { readonly status: 'held' | 'waiting'; readonly untilMs: number }
  /** the head was settled as `poison`; `wake` is to be added where the next turn needs one */
  | { readonly status: 'poison'; readonly turn: string; readonly wake?: string };

export interface StepOutcome {
  readonly key: string;
  /** appended to the log in this order; may be empty */
  readonly messages: readonly WeighedMessage[];
  /** the head that ids of new calls were derived from; refused as fenced where it moved. Absent for tool results */
  readonly expectedHead?: number;
  /** calls that the messages open */
  readonly opens: readonly OpenCall[];
  /** call ids that the messages answer */
  readonly closes: readonly string[];
  /** whole texts kept beside clipped messages, by hash */
  readonly texts?: ReadonlyMap<string, string>;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** what the provider counted, where that is the whole request, and the version that was sent: another may be live by now */
  readonly anchor?: Pick<SizeAnchor, 'tokens' | 'version' | 'setup'>;
  /** of a model call: the version that it answered over, which is never rolled back from then on */
  readonly answeredVersion?: number;
  /** of a model call: our own size of its request, kept with the turn */
  readonly requestTokens?: number;
  /** of a model call whose answer, the first of the messages, is not complete */
  readonly end?: AnswerEnd;
}

export type StepResult =
  | {
      /** `known`: recorded by an earlier delivery of the same step; nothing was appended */
      readonly status: 'recorded' | 'known';
      readonly conversation: StepState;
    }
  | Lost;

export type TurnSettlement = IdleTtl &
  (
    | { readonly state: 'completed'; readonly answerSeq: number; readonly end?: AnswerEnd }
    | { readonly state: 'failed'; readonly failure: TurnFailure }
  );

export type SettleResult =
  | {
      readonly status: 'settled' | 'known';
      readonly hasNext: boolean;
      /** to be added */
      readonly wake?: string;
      /** the next turn, taken in the same write */
      readonly next?: ClaimedTurn;
    }
  | Lost;

/** A version over one that a provider refused. */
export interface VersionRollback {
  /** the live version, which was refused; another one answers `version_changed` and writes nothing */
  readonly expectedVersion: number;
  /** the version whose segments that one shows: its own number, unless it was put over a refused one */
  readonly shownVersion: number;
  readonly version: Version;
  /** hash of what the refused one was made of: no later pass commits the same again */
  readonly refusedSegments: string;
  readonly keepVersions: number;
}

export type RollbackResult =
  | { readonly status: 'rolled_back' | 'known'; readonly conversation: ConversationState }
  | { readonly status: 'version_changed'; readonly version: number }
  /** a request over what it shows was answered: its form is not what is refused; nothing was written */
  | { readonly status: 'answered' }
  | Lost;

export type CancelResult =
  | { readonly status: 'canceled'; readonly wake?: string }
  /** settled before; the state says how */
  | { readonly status: 'settled'; readonly state: TurnState }
  | { readonly status: 'not_found' };

/** What services need: turns in, turns out. */
export interface TurnIntake {
  accept(request: AcceptRequest): Promise<Told<AcceptResult>>;
  answerTurn(request: AnswerRequest): Promise<Told<AnswerResult>>;
  cancel(conversation: ConversationRef, turn: string, wake: string): Promise<Told<CancelResult>>;
  readTurn(conversation: ConversationRef, turn: string): Promise<TurnView | undefined>;
  /** of all conversations, newest first */
  listFailed(query: FailedQuery): Promise<FailedTurn[]>;
  /** of one conversation, the first `limit`; undefined where there is none */
  listOpen(conversation: ConversationRef, limit: number): Promise<OpenTurns | undefined>;
}

/** What a worker has to know to go on with a turn, beside what a claim answers. */
export interface Briefing {
  /** what the caller gave, as JSON */
  readonly context?: string;
  /** the system prompt that was written for this turn */
  readonly system?: string;
}

export type KeepSystemResult = { readonly status: 'kept'; readonly system: string } | Lost;

/** What a turn worker needs. Every write is fenced by the lease and idempotent by its key. */
export interface TurnStore {
  /** @param wake recorded and answered where a poison turn is settled and another waits behind it */
  claim(conversation: ConversationRef, owner: string, wake: string): Promise<ClaimResult>;
  /** records that these steps begin, in one write; what is known already is left as it is */
  startSteps(lease: TurnLease, keys: readonly string[]): Promise<{ readonly status: 'recorded' } | Lost>;
  /** of an open turn */
  readBriefing(conversation: ConversationRef, turn: string): Promise<Briefing>;
  /** keeps the system prompt that was written for the turn. The first one counts, and is answered */
  keepSystem(lease: TurnLease, system: string): Promise<KeepSystemResult>;
  recordStep(lease: TurnLease, outcome: StepOutcome): Promise<StepResult>;
  /** gives the lease back and keeps the head; `exhausted`: the step was suspended too often, nothing was written */
  suspend(lease: TurnLease, wait: WaitRequest): Promise<{ readonly status: 'suspended' | 'exhausted' } | Lost>;
  heartbeat(lease: TurnLease): Promise<{ readonly status: 'held' } | Lost>;
  /** hands the turn back at a stop: the claim counts as no attempt. `wake` is recorded and is to be added */
  release(lease: TurnLease, wake: string): Promise<{ readonly status: 'released' } | Lost>;
  /** records that nothing else runs in the owner's process from now on; only such a claim makes a turn poison */
  startAlone(lease: TurnLease): Promise<{ readonly status: 'recorded' } | Lost>;
  rollBackVersion(lease: TurnLease, rollback: VersionRollback): Promise<RollbackResult>;
  /** @param wake recorded and answered where another turn waits; undefined: the owner takes that turn in the same write */
  settle(lease: TurnLease, settlement: TurnSettlement, wake: string | undefined): Promise<SettleResult>;
}
