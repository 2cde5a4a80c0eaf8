import type { ConversationState, StepState } from '../conversation.ts';
import type { Acknowledged } from '../durability.ts';
import type { OpenCall } from '../history.ts';
import type { ConversationRef, TraceParent } from '../ids.ts';
import type { Leaving } from '../leaving.ts';
import type { Message, WeighedMessage } from '../message.ts';
import type { IdleTtl } from '../policy.ts';
import type { RequestFacts } from '../request-facts.ts';
import type { SizeAnchor } from '../size.ts';
import type {
  AnswerEnd,
  OnBusy,
  StepRecord,
  TurnCaps,
  TurnFailure,
  TurnState,
  TurnUsage,
  TurnView,
  Waiting,
  WaitRequest,
} from '../turn.ts';
import type { Version } from '../version.ts';
import type { FailedQuery, FailedTurn } from './failed-turns.ts';
import type { OpenTurns } from './open-turns.ts';
import type { AnswerRequest, AnswerResult } from './turn-answers.ts';
import type { Forking } from './version-store.ts';

/** Proof that a worker owns a turn. Every write of the turn must carry it (invariant I4). */
export interface TurnLease {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly owner: string;
  /** Number that increases with each owner. A write with an outdated number is not made and gets the answer `fenced`. */
  readonly epoch: number;
}

/**
 * How a worker loses its turn: to another worker (`fenced`), an erase (`gone`), a cancel, or a loss of data (`unclaimed`).
 */
export const LOSSES = ['fenced', 'gone', 'canceled', 'unclaimed'] as const;
/** Answer to a worker that has lost its turn. The worker must not write any more. */
export type Lost = { readonly status: (typeof LOSSES)[number] };

export function isLost(result: { readonly status: string }): result is Lost {
  return LOSSES.some((status) => status === result.status);
}

/** A new turn, to be stored and queued. */
export interface AcceptRequest {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly agent: string;
  /** User message that starts the turn, with its size. */
  readonly input: WeighedMessage;
  /**
   * Hash of the caller's input. If the turn id was accepted before with another hash, the store answers with a
   * conflict.
   */
  readonly payloadHash: string;
  /** Id of the queue job to add if the answer has `needsWake`. This id must be new for each call. */
  readonly wake: string;
  /** Milliseconds for which the turn stays `scheduled`. Absent or 0: it is queued at once. */
  readonly delayMs?: number | undefined;
  readonly maxQueuedTurns: number;
  /** Trace span of the caller that enqueues the turn. */
  readonly traceParent?: TraceParent | undefined;
  /** Context data of the turn as JSON, written by `writeContext`. Deleted when the turn settles. */
  readonly context?: string | undefined;
  /** Failed turn of the same conversation whose input this turn runs again. Turns that have not failed are refused. */
  readonly redriveOf?: string;
  /** Treatment of the turn if the mailbox is not empty. Absent: `enqueue`. A delayed turn is always enqueued. */
  readonly onBusy?: OnBusy | undefined;
  /** Turn for which `onBusy` is meant. If another turn is first, the new turn is enqueued. Absent: any turn. */
  readonly busyTurn?: string | undefined;
  readonly caps?: TurnCaps | undefined;
}

export type AcceptResult =
  /** `known`: this turn was accepted before. If the answer has `needsWake`, the caller adds the queue job. */
  | { readonly status: 'accepted' | 'known'; readonly state: TurnState; readonly needsWake: boolean }
  | { readonly status: 'conflict' }
  | Forking
  /** The conversation belongs to another agent, which is named. */
  | { readonly status: 'other_agent'; readonly agent: string }
  /** The mailbox has reached its limit (`full`), or is not empty and the turn was to be refused then (`busy`). */
  | { readonly status: 'full' | 'busy'; readonly queued: number }
  /** The turn to run again has not failed. Without `state`, there is no such turn. */
  | { readonly status: 'not_failed'; readonly state?: TurnState };

/** The oldest unsettled turn of a conversation, with everything that its worker needs to continue. */
export interface ClaimedTurn {
  readonly lease: TurnLease;
  readonly agent: string;
  /** Claims by workers since the turn's last progress. From `maxAttempts` on, the turn may only run alone in a process. */
  readonly attempt: number;
  /** True for the first claim since the turn was accepted or last suspended, even if that claim is repeated. */
  readonly isFirstClaim: boolean;
  readonly acceptedAt: number;
  /** Time from which the turn was allowed to run (acceptance, or due time if scheduled), by the clock of Redis. */
  readonly dueAt: number;
  readonly caps: TurnCaps;
  /** Tokens of the model calls so far, by the provider's count, or by ours if the provider reported none. */
  readonly spentTokens: number;
  /** Trace span of the caller that enqueued the turn. */
  readonly traceParent?: TraceParent;
  /** Time of the claim by the clock of Redis, as for all times of the log. */
  readonly claimedAt: number;
  readonly inputSeq: number;
  /** User message of the turn, if it is the last log entry. Workers that know the earlier log need not read it. */
  readonly input?: Message;
  /** Messages of the log before `input`. Only for a short, unpacked log that is the whole context, and not after a settlement. */
  readonly earlier?: readonly Message[];
  readonly conversation: ConversationState;
  /** Present if the caller attached context data to the turn, which `readBriefing` reads. */
  readonly hasContext?: true;
  readonly steps: ReadonlyMap<string, StepRecord>;
  /**
   * The wait that ends with this claim, and the number of recorded steps when it started. `isFulfilled` is false if the
   * wait timed out, or if compaction left the context too large (invariant I13).
   */
  readonly waited?: Waiting &
    Pick<WaitRequest, 'suspendedIn' | 'isHeld'> & { readonly isFulfilled: boolean; readonly steps: number };
  /** Answers and approvals that arrived during the wait, by the id of the tool call, as JSON. */
  readonly answers: ReadonlyMap<string, string>;
}

export type ClaimResult =
  | { readonly status: 'claimed'; readonly turn: ClaimedTurn }
  | { readonly status: 'empty' | 'gone' }
  /** Another worker owns the turn, or the turn waits. It cannot be claimed before `untilMs`. */
  | { readonly status: 'leased' | 'waiting'; readonly untilMs: number }
  /** The agent of the turn is not among those that the caller has. Nothing was written. */
  | { readonly status: 'unserved'; readonly agent: string }
  /** The turn was settled as failed with `poison`. If the answer has a `wake`, the caller adds that queue job. */
  | { readonly status: 'poison'; readonly turn: string; readonly wake?: string };

/** Result of a model or tool call, to be stored. */
export interface StepOutcome {
  readonly key: string;
  /** Messages to append to the log, in this order. May be empty. */
  readonly messages: readonly WeighedMessage[];
  /**
   * Last log entry that the worker knew when it chose the ids of new tool calls. If the log has grown since, the answer
   * is `fenced`. Absent for tool results.
   */
  readonly expectedHead?: number;
  /** Tool calls that the messages make and that have no result yet. */
  readonly opens: readonly OpenCall[];
  /** Ids of tool calls for which the messages are results. */
  readonly closes: readonly string[];
  /** Full texts of clipped messages, by the hash of each text. */
  readonly fullTexts?: ReadonlyMap<string, string>;
  readonly usage?: TurnUsage;
  /** The provider's token count of the whole request, and the version that was sent. Another may be live by now. */
  readonly anchor?: Pick<SizeAnchor, 'tokens' | 'version' | 'fingerprint'>;
  /** Sizes and limits of the request, stored with the conversation. */
  readonly requestFacts?: RequestFacts;
  /** Context version that the model answered. This version is never rolled back from then on. */
  readonly answeredVersion?: number;
  /** Tokens of the model request, counted by turnfold, stored with the turn. */
  readonly requestTokens?: number;
  /** How the model's answer ended, if it is incomplete. The answer is the first of `messages`. */
  readonly end?: AnswerEnd;
}

export type StepResult =
  /** `known`: the step was recorded before, by an earlier delivery of the job. Nothing was appended. */
  { readonly status: 'recorded' | 'known'; readonly conversation: StepState } | Lost;

interface CompletedTurn {
  readonly state: 'completed';
  readonly answerSeq: number;
  readonly end?: AnswerEnd;
  /** True if the answer matches the schema of the agent. */
  readonly isStructured?: boolean;
}

/** How a turn ends. */
export type TurnSettlement = IdleTtl & {
  /** Outcome of the last step, if it is not recorded yet. The settlement records it with the same write. */
  readonly step?: StepOutcome | undefined;
  /** Messages that leave the context with the turn. Absent: all stay. */
  readonly leaves?: Leaving | undefined;
} & (CompletedTurn | { readonly state: 'failed'; readonly failure: TurnFailure });

export type SettleResult =
  | {
      readonly status: 'settled' | 'known';
      readonly hasNext: boolean;
      /** Id of a queue job for the next turn, which the caller adds. */
      readonly wake?: string;
      /** State before the message of the next turn, if the settlement has a step. */
      readonly conversation?: StepState;
      /** The next turn of the conversation, which the worker has claimed with the same write. */
      readonly next?: ClaimedTurn;
    }
  | Lost;

/** A context version that replaces one that a provider refused. */
export interface VersionRollback {
  /** The refused version. If it is no longer current, nothing is written and the answer is `version_changed`. */
  readonly expectedVersion: number;
  /** Version that first had the refused segments: the refused version, or an older one that it copied. */
  readonly shownVersion: number;
  readonly version: Version;
  /** Hash of the refused segments. No later compaction pass commits the same segments. */
  readonly refusedSegments: string;
  readonly keepVersions: number;
}

export type RollbackResult =
  | { readonly status: 'rolled_back' | 'known'; readonly conversation: ConversationState }
  | { readonly status: 'version_changed'; readonly version: number }
  /** A model has answered with the refused segments before, so they cannot be the cause. Nothing was written. */
  | { readonly status: 'answered' }
  | Lost;

export type CancelResult =
  | { readonly status: 'canceled'; readonly wake?: string }
  /** The turn had already ended, in this state. */
  | { readonly status: 'settled'; readonly state: TurnState }
  | { readonly status: 'not_found' };

/** Accepts, cancels and reads turns, for client calls. */
export interface TurnIntake {
  accept(request: AcceptRequest): Promise<Acknowledged<AcceptResult>>;
  answerTurn(request: AnswerRequest): Promise<Acknowledged<AnswerResult>>;
  cancel(conversation: ConversationRef, turn: string, wake: string): Promise<Acknowledged<CancelResult>>;
  readTurn(conversation: ConversationRef, turn: string): Promise<TurnView | undefined>;
  /** Lists failed turns of all conversations, newest first. */
  listFailed(query: FailedQuery): Promise<FailedTurn[]>;
  /**
   * Lists the first `limit` unsettled turns of a conversation.
   * @returns undefined if the conversation does not exist
   */
  listOpen(conversation: ConversationRef, limit: number): Promise<OpenTurns | undefined>;
  /** Reads the texts of the user messages of turns that no worker has claimed, by turn. Leaves out all other turns. */
  readInputs(conversation: ConversationRef, turns: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Data that a worker needs for a turn and that the claim does not include. */
export interface Briefing {
  /** Context data that the caller attached, as JSON. */
  readonly context?: string;
  /** System prompt that the agent's function wrote for this turn. */
  readonly system?: string;
}

export type KeepSystemResult = { readonly status: 'kept'; readonly system: string } | Lost;

/**
 * Stores turns, for turn workers. Every write checks the worker's lease (invariant I4) and has no effect when repeated
 * (invariant I5).
 */
export interface TurnStore {
  /**
   * Claims the oldest unsettled turn of a conversation for a worker.
   * @param wake id of a queue job, stored and returned if the turn is settled as poison and another turn follows
   * @param agents names of the worker's agents. A turn of another agent is not claimed. Absent: any turn is
   */
  claim(conversation: ConversationRef, owner: string, wake: string, agents?: readonly string[]): Promise<ClaimResult>;
  /** Records that steps have started, in one write. Steps that are already recorded do not change. */
  startSteps(lease: TurnLease, keys: readonly string[]): Promise<{ readonly status: 'recorded' } | Lost>;
  /** Reads the context data and the system prompt of an unsettled turn. */
  readBriefing(conversation: ConversationRef, turn: string): Promise<Briefing>;
  /** Stores the system prompt of the turn. If one is already stored, that one stays. Returns the stored prompt. */
  keepSystem(lease: TurnLease, system: string): Promise<KeepSystemResult>;
  recordStep(lease: TurnLease, outcome: StepOutcome): Promise<StepResult>;
  /**
   * Gives up the lease until the wait ends. The turn stays first in line. `exhausted`: the step was suspended too
   * often.
   */
  suspend(lease: TurnLease, wait: WaitRequest): Promise<{ readonly status: 'suspended' | 'exhausted' } | Lost>;
  heartbeat(lease: TurnLease): Promise<{ readonly status: 'renewed' } | Lost>;
  /**
   * Hands the turn back when its worker shuts down or cannot run the turn now. The claim then does not count as an
   * attempt (invariant I9). The caller adds the queue job `wake`.
   * @param delayMs ms until the turn is due (0). With a delay, the caller adds no job, and the sweeper wakes the turn
   */
  release(lease: TurnLease, wake: string, delayMs?: number): Promise<{ readonly status: 'released' } | Lost>;
  /**
   * Records that the turn's process runs nothing else from now on. Only then can a crash of the process make the turn
   * fail as poison (invariant I10).
   * @param isWatched true if a parent process reports the crash by `reportDeath`. A crash that no process reports then
   * counts as proof only after `maxAttempts` more attempts, because the parent died at the same time
   */
  startAlone(lease: TurnLease, isWatched?: boolean): Promise<{ readonly status: 'recorded' } | Lost>;
  /**
   * Records that the process died in which the turn ran alone, and ends the lease. The next claim settles the turn as
   * poison, unless the turn had made progress in that process.
   */
  reportDeath(lease: TurnLease): Promise<{ readonly status: 'recorded' } | Lost>;
  rollBackVersion(lease: TurnLease, rollback: VersionRollback): Promise<RollbackResult>;
  /**
   * Ends the turn, and records its last step if the settlement has one. `fenced` if that step does not fit the log.
   * @param wake id of a queue job, stored and returned if another turn follows. Undefined: the worker claims that turn
   * at once instead
   */
  settle(lease: TurnLease, settlement: TurnSettlement, wake: string | undefined): Promise<SettleResult>;
}
