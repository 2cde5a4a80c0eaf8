import type { BudgetInfeasible } from '../../domain/compaction/budget.ts';
import type { Reason } from '../../domain/compaction/thresholds.ts';
import type { ContentListener } from '../../domain/contents.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { PassOutcome } from '../../domain/pass.ts';
import type { ContextStore } from '../../domain/ports/context-store.ts';
import type { PassIntake } from '../../domain/ports/pass-store.ts';
import type { WakeQueue } from '../../domain/ports/queue.ts';
import type { TextPublisher } from '../../domain/ports/text-deltas.ts';
import type { TurnStore } from '../../domain/ports/turn-store.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import type { Calibrations } from '../calibrations.ts';
import type { SoloLock } from '../solo-lock.ts';
import type { WorkerPorts } from '../worker-ports.ts';

/** Why a turn needs a smaller context. */
export interface PassNeed {
  readonly reasons: readonly Reason[];
  /** Upper bound of the request that a provider refused as too long. */
  readonly refusedTokens?: number | undefined;
}

/** The answer to "could a pass make the context small enough now?". `gone`: the conversation was erased. */
export type Recount =
  | { readonly status: 'fits' }
  | {
      readonly status: 'too_large';
      /** The parts that a pass has to keep. */
      readonly details: BudgetInfeasible;
      /** Rules of the model's format that a smaller context would break. Often empty. */
      readonly rules: readonly string[];
    }
  | { readonly status: 'gone' };

/** `none_open`: the pass had ended before. `lost`: another owner took the pass during the takeover. */
export type TakeoverResult =
  | { readonly status: 'ended'; readonly outcome: PassOutcome['kind'] }
  | { readonly status: 'none_open' }
  | { readonly status: 'lost' };

/** The means of a turn to compact its context itself, if no pass settles the size for it. */
export interface PassTakeover {
  /** Takes the open pass over and settles it without the missing summaries. */
  settleNow(conversation: ConversationRef): Promise<TakeoverResult>;
  /** Counts on a fresh snapshot and writes nothing. */
  recount(conversation: ConversationRef, need: PassNeed): Promise<Recount>;
}

export interface TurnSettings {
  /** Turns per delivery. The next one gets a wake of its own, so that one conversation cannot occupy a worker. */
  readonly maxTurns: number;
  /** Age from which on a delivery claims no further turn. */
  readonly maxDeliveryMs: number;
  readonly stepTimeoutMs: number;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
}

export const TURN_SETTINGS: TurnSettings = {
  maxTurns: 16,
  maxDeliveryMs: 2_000,
  stepTimeoutMs: TURN_LIMITS.stepTimeoutMs,
  heartbeatMs: TURN_LIMITS.heartbeatMs,
  leaseMs: TURN_LIMITS.leaseMs,
};

export interface TurnPorts extends WorkerPorts {
  readonly turns: TurnStore;
  readonly contexts: Pick<ContextStore, 'readConversation' | 'readContext' | 'readLog' | 'readText' | 'readVersion'>;
  readonly passes: PassIntake;
  readonly takeover: PassTakeover;
  readonly texts: TextPublisher;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly calibrations: Pick<Calibrations, 'observe'>;
  /** Receives the contents of requests and answers. Absent: contents are not collected. */
  readonly onContent?: ContentListener | undefined;
  readonly solo: SoloLock;
  readonly settings?: Partial<TurnSettings>;
}
