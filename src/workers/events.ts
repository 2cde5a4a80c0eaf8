import type { ConversationRef } from '../domain/ids.ts';
import type { WaitKind } from '../domain/turn.ts';

/** Ids that a log line may carry. Never contents. */
export interface EventScope {
  readonly conversation: ConversationRef;
  readonly turn?: string;
  readonly passId?: string;
}

/**
 * What workers tell whoever listens: metrics and logs subscribe, the core knows neither. Durations in ms, sizes in tokens.
 */
export type WorkerEvent = EventScope &
  (
    | { readonly type: 'turn_claimed'; readonly waitedMs: number; readonly attempt: number }
    | {
        readonly type: 'turn_settled';
        readonly outcome: 'completed' | 'failed';
        readonly code?: string;
        readonly durationMs: number;
      }
    | { readonly type: 'turn_suspended'; readonly waitsFor: WaitKind; readonly untilMs: number }
    | {
        readonly type: 'model_called';
        readonly purpose: 'turn' | 'summary';
        readonly model: string;
        readonly outcome: 'answered' | 'overflow' | 'retry' | 'fatal' | 'aborted';
        readonly durationMs: number;
        /** our own size of the request */
        readonly tokens: number;
        readonly usable?: number;
        readonly inputTokens?: number;
        readonly outputTokens?: number;
      }
    | {
        readonly type: 'tool_called';
        readonly tool: string;
        readonly outcome: 'ok' | 'error';
        readonly durationMs: number;
      }
    | { readonly type: 'pass_requested'; readonly reasons: readonly string[] }
    | {
        readonly type: 'pass_ended';
        readonly outcome: 'committed' | 'none' | 'no_gain' | 'infeasible' | 'failed' | 'superseded';
        readonly code?: string;
        readonly strategy: 'summarize' | 'evict' | 'none';
        readonly reasons: readonly string[];
        /** from its request to its end */
        readonly durationMs: number;
        readonly version?: number;
        readonly tokensBefore?: number;
        readonly tokensAfter?: number;
        readonly archived?: number;
        readonly sequences: number;
      }
    | { readonly type: 'pass_fanned_out'; readonly jobs: number; readonly sequences: number }
    | {
        readonly type: 'summary_ended';
        readonly outcome: 'written' | 'known' | 'refused' | 'failed' | 'superseded';
        readonly durationMs: number;
        readonly sourceTokens: number;
        readonly tokens?: number;
      }
    | { readonly type: 'lease_lost'; readonly what: 'turn' | 'pass' }
    | { readonly type: 'worker_failed'; readonly where: string; readonly error: unknown }
  );

export type EventListener = (event: WorkerEvent) => void;
