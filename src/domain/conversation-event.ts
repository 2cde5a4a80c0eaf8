import type { PassOutcome } from './pass.ts';
import type { TurnUsage, WaitingCall, WaitKind } from './turn.ts';
import type { Version } from './version.ts';

/**
 * `keptMs` after its newest event, all events expire. Redis trims roughly: up to a hundred more than `kept` may remain.
 */
export const EVENT_LIMITS = { keptMs: 86_400_000, kept: 500 } as const;

/** `superseded`: a restore or a rollback replaced the version that the pass worked on. */
export type PassEndKind = Exclude<PassOutcome['kind'], 'no_reason' | 'thinking'> | 'superseded';

/** Why turnfold could not carry out an approval. */
export type ApprovalRefusalCode = 'invalid_input' | 'proposal_stale' | 'conversation_busy';

/** Sizes in tokens. `archived` is the number of messages that left the context. */
export interface VersionReport extends Pick<Version, 'strategy' | 'archived' | 'tokensBefore' | 'tokensAfter'> {
  readonly reasons: readonly string[];
}

export interface ReportedCall extends Omit<WaitingCall, 'decision'> {
  /** Present if `arguments` or `input` were cut to 4,000 characters. The client method `result` returns all. */
  readonly isCut?: true;
}

export type EventBody =
  | {
      readonly type: 'turn_settled';
      readonly turn: string;
      readonly state: 'completed' | 'failed' | 'canceled';
      /** Absent if no provider reported usage. */
      readonly usage?: TurnUsage;
    }
  | {
      readonly type: 'turn_steered';
      readonly turn: string;
      /** Running turn that received the message. */
      readonly into: string;
      /** Position (seq) of the message in the log. */
      readonly seq: number;
    }
  | {
      /** The event is sent again if the turn is suspended again for the remaining calls. */
      readonly type: 'turn_waiting';
      readonly turn: string;
      /** A wait for `tools` or `approval` ends when a caller sends `answer`. Other waits end without a caller. */
      readonly for: WaitKind;
      /** Latest time at which the turn continues, in ms since epoch. For tool calls: their earliest deadline. */
      readonly until: number;
      /** Empty for `compaction` and `retry`. */
      readonly calls: readonly ReportedCall[];
    }
  | (VersionReport & {
      readonly type: 'version_committed';
      readonly version: number;
      readonly cause: Version['cause'];
      /** Ms from the request for compaction to the commit. */
      readonly durationMs: number;
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
  /** Event of a newer release, of an unknown type. Readers get its id, because they take a gap for lost events. */
  | {
      readonly type: 'unknown';
      readonly name: string;
      readonly fields: Readonly<Record<string, string>>;
    };

export type ConversationEvent = EventBody & {
  /** Later events have larger ids. */
  readonly id: string;
  /** In ms since epoch, by the clock of Redis. */
  readonly at: number;
};

export const FIRST_POSITION = '0-0';
