import type { WaitingCall, WaitKind } from './turn.ts';
import type { Version } from './version.ts';

/**
 * Retention of events. `keptMs`: milliseconds after the newest event of a conversation, after which all its events
 * expire together. `kept`: events per conversation that are kept at least. Trimming may leave up to a hundred more.
 */
export const EVENT_LIMITS = { keptMs: 86_400_000, kept: 500 } as const;

/** How a pass ended, as reported in events. `superseded`: a restore or a rollback replaced the pass. */
export type PassEndKind =
  | 'committed'
  | 'approved'
  | 'rejected'
  | 'expired'
  | 'none'
  | 'no_gain'
  | 'infeasible'
  | 'failed'
  | 'superseded';

/** Why an approval could not be carried out. */
export type ApprovalRefusalCode = 'invalid_input' | 'proposal_stale' | 'conversation_busy';

/**
 * Figures of a proposed or committed version. Sizes are in tokens. `archived` counts the messages taken out of the
 * context.
 */
export interface VersionReport extends Pick<Version, 'strategy' | 'archived' | 'tokensBefore' | 'tokensAfter'> {
  readonly reasons: readonly string[];
}

/** A waiting call, as an event reports it. */
export interface ReportedCall extends WaitingCall {
  /** Mark that `arguments` is cut: an event holds 4,000 characters of all its calls. `result` returns the full text. */
  readonly isCut?: true;
}

/** Fields of an event, by its type. */
export type EventBody =
  | { readonly type: 'turn_settled'; readonly turn: string; readonly state: 'completed' | 'failed' | 'canceled' }
  | {
      /**
       * The turn waits and uses no worker meanwhile. A turn that is suspended again for the remaining calls is reported
       * again.
       */
      readonly type: 'turn_waiting';
      readonly turn: string;
      /** Kind of wait. `answer` ends `tools` and `approval`. The other waits end by themselves. */
      readonly for: WaitKind;
      /** Time at which the turn continues at the latest, in ms since epoch. For calls: their earliest deadline. */
      readonly until: number;
      /** Calls that wait for an answer or approval. Empty for `compaction` and `retry`. */
      readonly calls: readonly ReportedCall[];
    }
  | (VersionReport & {
      readonly type: 'version_committed';
      /** Number of the version, which is the live one from then on. */
      readonly version: number;
      readonly cause: Version['cause'];
      /** Milliseconds from the request to the commit. */
      readonly durationMs: number;
      /** Summarizer that wrote for the version. Absent if none did. */
      readonly model?: string;
    })
  | { readonly type: 'pass_ended'; readonly passId: string; readonly outcome: PassEndKind }
  | (VersionReport & {
      readonly type: 'version_proposed';
      readonly passId: string;
      readonly proposal: string;
    })
  | {
      readonly type: 'proposal_decided';
      readonly proposal: string;
      readonly verdict: 'approve' | 'reject';
      /** Reason of a rejection, if the person gave one. */
      readonly reason?: string;
    }
  | { readonly type: 'approval_refused'; readonly passId: string; readonly code: ApprovalRefusalCode }
  /**
   * An event of a newer program, whose type or fields this program does not know. It is reported instead of skipped. A
   * caller that never saw its id would receive a report of a loss once the event was trimmed.
   */
  | {
      readonly type: 'unknown';
      /** Type that this program does not know. */
      readonly name: string;
      readonly fields: Readonly<Record<string, string>>;
    };

/** One durable event of a conversation. */
export type ConversationEvent = EventBody & {
  /** Position of the event. Later events have larger ids. */
  readonly id: string;
  /** Time of the event in ms since epoch, by the store's clock. */
  readonly at: number;
};
