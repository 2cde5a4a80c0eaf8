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

export interface PassNeed {
  readonly reasons: readonly Reason[];
  /** Upper bound in tokens of the request that the provider refused as too long. */
  readonly refusedTokens?: number | undefined;
}

/** Says if a pass could make the context small enough now. `gone`: the conversation was erased. */
export type Recount =
  | { readonly status: 'fits' }
  | {
      readonly status: 'too_large';
      /** Sizes in tokens of the messages and texts that a pass must keep. */
      readonly details: BudgetInfeasible;
      /** Rules of the model's format that a smaller context would break. */
      readonly rules: readonly string[];
    }
  | { readonly status: 'gone' };

/** Result of taking over a pass. `none_open`: the pass had ended before. `lost`: another owner took the pass. */
export type TakeoverResult =
  | { readonly status: 'ended'; readonly outcome: PassOutcome['kind'] }
  | { readonly status: 'none_open' }
  | { readonly status: 'lost' };

/** Lets a turn compact its context itself, if no pass made the context small enough. */
export interface PassTakeover {
  /** Completes the open pass without the summaries that are missing. */
  settleNow(conversation: ConversationRef): Promise<TakeoverResult>;
  /** Counts what a pass could reach now. Writes nothing. */
  recount(conversation: ConversationRef, need: PassNeed): Promise<Recount>;
}

/**
 * How the process of a suspect ended. `ended`: its turn is settled, suspended, handed back or lost. `stopped`: this
 * worker stops. `not_started`: the process could run no turn, which is not the turn's fault. `full`: no further process
 * may run.
 */
export type SuspectEnd = 'ended' | 'died' | 'stopped' | 'not_started' | 'full';

export interface SuspectRunner {
  /** Runs a claimed suspect until its process has ended. @param leaseEnds aborted when this worker has lost the turn */
  run(claimed: ClaimedTurn, leaseEnds: AbortSignal): Promise<SuspectEnd>;
}

export interface TurnSettings {
  /** Number of turns of one delivery. Further turns get a wake, so that one conversation cannot occupy a worker. */
  readonly maxTurns: number;
  readonly maxDeliveryMs: number;
  readonly stepTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
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
  /** Receives texts of requests and answers. Undefined: no such texts are collected. */
  readonly onContent?: ContentListener | undefined;
  readonly solo: SoloLock;
  /** Runs suspects in processes of their own. Undefined: a suspect runs alone in this process. */
  readonly suspects?: SuspectRunner | undefined;
  /** True in the process of a suspect. The parent process reports the death of that process. */
  readonly isWatched?: boolean;
  readonly settings?: Partial<TurnSettings>;
}
