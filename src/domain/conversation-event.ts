import type { TurnUsage, WaitingCall, WaitKind } from './turn.ts';
import type { Version } from './version.ts';

/**
 * Retention of a conversation's events. `keptMs`: all events expire together this long after the newest one. `kept`:
 * the newest events that are always kept. Up to a hundred older ones may remain, because the stream is trimmed roughly.
 */
export const EVENT_LIMITS = { keptMs: 86_400_000, kept: 500 } as const;

/**
 * How a compaction pass ended, as reported in events. `superseded`: a restore or a rollback replaced the context
 * version that the pass worked on.
 */
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

/** Why turnfold could not carry out a person's approval of a proposed compaction. */
export type ApprovalRefusalCode = 'invalid_input' | 'proposal_stale' | 'conversation_busy';

/**
 * Sizes of a proposed or committed context version, in tokens. `archived` is the number of messages that left the
 * context.
 */
export interface VersionReport extends Pick<Version, 'strategy' | 'archived' | 'tokensBefore' | 'tokensAfter'> {
  readonly reasons: readonly string[];
}

/** A tool call that waits for an answer or an approval, as reported in an event. */
export interface ReportedCall extends Omit<WaitingCall, 'decision'> {
  /**
   * True if `arguments` or `input` is cut. An event holds at most 4,000 characters of arguments over all its calls, and as
   * many of inputs. The client method `result` returns the full texts.
   */
  readonly isCut?: true;
}

/** Fields of an event, by its type. */
export type EventBody =
  | {
      readonly type: 'turn_settled';
      readonly turn: string;
      readonly state: 'completed' | 'failed' | 'canceled';
      /** Usage of the turn's model calls, as providers counted it. Absent if none reported any. */
      readonly usage?: TurnUsage;
    }
  | {
      /** The message of a turn with `onBusy: 'steer'` went into the running turn. */
      readonly type: 'turn_steered';
      readonly turn: string;
      /** The running turn. */
      readonly into: string;
      /** Position (seq) of the message in the log. */
      readonly seq: number;
    }
  | {
      /**
       * The turn is suspended and uses no worker. If it is suspended again for the remaining calls, this event is sent
       * again.
       */
      readonly type: 'turn_waiting';
      readonly turn: string;
      /**
       * Kind of wait. A wait for `tools` or `approval` ends when a caller sends `answer`. Other waits end
       * without a caller.
       */
      readonly for: WaitKind;
      /**
       * Time at which the turn continues at the latest, in ms since epoch. For tool calls: the earliest deadline among
       * them.
       */
      readonly until: number;
      /** Tool calls that wait for a result or an approval. Empty for `compaction` and `retry`. */
      readonly calls: readonly ReportedCall[];
    }
  | (VersionReport & {
      readonly type: 'version_committed';
      /** Number of the new context version. The next model request uses this version. */
      readonly version: number;
      readonly cause: Version['cause'];
      /** Milliseconds from the request for compaction to the commit of the version. */
      readonly durationMs: number;
      /** Summarizer that wrote new summaries for this version. Absent if the version has no new summaries. */
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
      /** Why the person rejected the proposal, if they gave a reason. */
      readonly reason?: string;
    }
  | { readonly type: 'approval_refused'; readonly passId: string; readonly code: ApprovalRefusalCode }
  /**
   * An event that a newer release wrote, with a type or fields that this release does not know. The event is delivered
   * rather than skipped, because a reader that skipped its id would later get a report of lost events.
   */
  | {
      readonly type: 'unknown';
      /** Type of the event that this release does not know. */
      readonly name: string;
      readonly fields: Readonly<Record<string, string>>;
    };

/** One stored event of a conversation. */
export type ConversationEvent = EventBody & {
  /** Position in the event stream. Later events have larger ids. */
  readonly id: string;
  /** Time of the event in ms since epoch, by the clock of Redis. */
  readonly at: number;
};

/** Position before a conversation's first event. */
export const FIRST_POSITION = '0-0';
