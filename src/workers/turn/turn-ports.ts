import type { ContentListener } from '../../domain/contents.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { PassOutcome, Reason } from '../../domain/pass.ts';
import type { BudgetInfeasible } from '../../domain/pass-plan.ts';
import { PROCESS_DEFAULTS } from '../../domain/process-options.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { WakeQueue } from '../../jobs/ports.ts';
import type { ContextStore } from '../../store/contexts.ts';
import type { PassIntake } from '../../store/passes.ts';
import type { StreamWriter } from '../../store/streams.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import type { TurnStore } from '../../store/turns.ts';
import type { Calibrations } from '../calibrations.ts';
import type { SoloLock } from '../solo-lock.ts';
import type { WorkerPorts } from '../worker-ports.ts';

/** Why a turn needs a smaller context before its next model call. */
export interface PassNeed {
  readonly reasons: readonly Reason[];
  /** Tokens (upper bound) of the request that the provider refused as too long. */
  readonly refusedTokens?: number | undefined;
}

/** Answers whether a compaction pass could now make the context small enough. `gone`: the conversation was erased. */
export type Recount =
  | { readonly status: 'fits' }
  | {
      readonly status: 'too_large';
      /** Sizes of the parts of the context that a compaction pass must keep. */
      readonly details: BudgetInfeasible;
      /** Rules of the model's message format that a smaller context would break. Often empty. */
      readonly rules: readonly string[];
    }
  | { readonly status: 'gone' };

/**
 * `none_open`: the compaction pass had ended before the takeover. `lost`: another owner took the pass during the
 * takeover.
 */
export type TakeoverResult =
  | { readonly status: 'ended'; readonly outcome: PassOutcome['kind'] }
  | { readonly status: 'none_open' }
  | { readonly status: 'lost' };

/** Lets a turn compact its context itself, if no compaction pass of a worker makes it small enough. */
export interface PassTakeover {
  /** Takes the open pass over and completes it without the summaries that are missing. */
  settleNow(conversation: ConversationRef): Promise<TakeoverResult>;
  /** Computes the sizes for the conversation's current state. Writes nothing. */
  recount(conversation: ConversationRef, need: PassNeed): Promise<Recount>;
}

/**
 * How the process of a suspect ended. `ended`: it settled, suspended, handed back or lost the turn. `stopped`: this
 * worker stops, so it ended the process. `not_started`: the process could run no turn, which is not the turn's fault.
 * `full`: this worker runs so many of these processes that it started no more.
 */
export type SuspectEnd = 'ended' | 'died' | 'stopped' | 'not_started' | 'full';

/** Runs suspects, turns whose workers died twice, each in a process of its own. */
export interface SuspectRunner {
  /**
   * Runs a claimed turn. Its process has ended when the call resolves, so nothing writes under the lease any more.
   * @param leaseEnds aborted when this worker has lost the turn
   */
  run(claimed: ClaimedTurn, leaseEnds: AbortSignal): Promise<SuspectEnd>;
}

export interface TurnSettings {
  /**
   * Most turns that one delivery answers. Further turns get a wake of their own, so that one conversation cannot occupy
   * a worker.
   */
  readonly maxTurns: number;
  /** ms after its start from which a delivery claims no further turn. */
  readonly maxDeliveryMs: number;
  readonly stepTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  /** ms for which a model step waits for its provider. */
  readonly providerWaitMs: number;
}

export const TURN_SETTINGS: TurnSettings = {
  maxTurns: 16,
  maxDeliveryMs: 2_000,
  stepTimeoutMs: TURN_LIMITS.stepTimeoutMs,
  heartbeatMs: TURN_LIMITS.heartbeatMs,
  leaseMs: TURN_LIMITS.leaseMs,
  providerWaitMs: PROCESS_DEFAULTS.providerWaitMs,
};

export interface TurnPorts extends WorkerPorts {
  readonly turns: TurnStore;
  readonly contexts: Pick<
    ContextStore,
    'readConversation' | 'readContext' | 'readLog' | 'readText' | 'readVersion' | 'listVersions'
  >;
  readonly passes: PassIntake;
  readonly takeover: PassTakeover;
  readonly streams: StreamWriter;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly calibrations: Pick<Calibrations, 'observe'>;
  /** Called with the contents of requests and answers. If undefined, no contents are collected. */
  readonly onContent?: ContentListener | undefined;
  readonly solo: SoloLock;
  /** Runs suspects in processes of their own. Undefined: a suspect runs alone in this process. */
  readonly suspects?: SuspectRunner | undefined;
  /** True in the process of a suspect: its parent process reports its death. */
  readonly isWatched?: boolean;
  readonly settings?: Partial<TurnSettings>;
}
