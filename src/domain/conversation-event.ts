import type { WaitingCall, WaitKind } from './turn.ts';
import type { Version } from './version.ts';

/**
 * How long events are kept, in ms, from the newest one on: all of a conversation's go together. How many of it are kept at
 * least; up to a hundred more may be.
 */
export const EVENT_LIMITS = { keptMs: 86_400_000, kept: 500 } as const;

/** How a pass ended, as it is told; `superseded`: a restore or a rollback took its place. */
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

/** Why an approval was not carried out. */
export type ApprovalRefusalCode = 'invalid_input' | 'proposal_stale' | 'conversation_busy';

/** What a version would do, or has done. Sizes in tokens; `archived`: messages taken out of the context. */
export interface ToldVersion extends Pick<Version, 'strategy' | 'archived' | 'tokensBefore' | 'tokensAfter'> {
  /** why the pass was asked for */
  readonly reasons: readonly string[];
}

/** A call that waits, as an event tells it. */
export interface ToldCall extends WaitingCall {
  /** `arguments` is only a beginning: an event holds 4,000 characters of all its calls. `result` has them whole */
  readonly isCut?: true;
}

/** What an event tells, by its type. */
export type EventNews =
  | {
      readonly type: 'turn_settled';
      /** id of the turn */
      readonly turn: string;
      /** how it was settled */
      readonly state: 'completed' | 'failed' | 'canceled';
    }
  | {
      /** the turn waits, and holds no worker meanwhile. Told again whenever it is suspended for what is left */
      readonly type: 'turn_waiting';
      /** id of the turn */
      readonly turn: string;
      /** `tools` and `approval` end with `answer`, the others by themselves */
      readonly for: WaitKind;
      /** ms since epoch: the turn goes on then at the latest. For calls, the earliest of their deadlines */
      readonly until: number;
      /** calls whose answer or approval is awaited; empty for `compaction` and `retry` */
      readonly calls: readonly ToldCall[];
    }
  | (ToldVersion & {
      readonly type: 'version_committed';
      /** its number: the live one from then on */
      readonly version: number;
      /** what made the version */
      readonly cause: Version['cause'];
      /** ms from the request to the commit */
      readonly durationMs: number;
      /** the summarizer that wrote for it; absent where none did */
      readonly model?: string;
    })
  | {
      readonly type: 'pass_ended';
      /** id of the pass */

      readonly passId: string;
      /** how it ended */

      readonly outcome: PassEndKind;
    }
  | (ToldVersion & {
      readonly type: 'version_proposed';
      /** id of the pass */

      readonly passId: string;
      /** id of the proposal */

      readonly proposal: string;
    })
  | {
      readonly type: 'proposal_decided';
      /** id of the proposal */
      readonly proposal: string;
      /** what somebody decided */
      readonly verdict: 'approve' | 'reject';
      /** of a rejection, where one was given */
      readonly reason?: string;
    }
  | {
      readonly type: 'approval_refused';
      /** id of the pass */

      readonly passId: string;
      /** why the approval was refused */

      readonly code: ApprovalRefusalCode;
    }
  /**
   * of a newer program than this one: its type, or what this one cannot read of it. Told, not passed over, so that its id is
   * known as handled: a caller that stayed behind it would be told of a loss once it was trimmed
   */
  | {
      readonly type: 'unknown';
      /** the type that this program does not know */

      readonly name: string;
      /** its fields, as text */

      readonly fields: Readonly<Record<string, string>>;
    };

/** One durable event of a conversation. */
export type ConversationEvent = EventNews & {
  /** where it stands; those that come later have larger ones */
  readonly id: string;
  /** ms since epoch, by the store's clock */
  readonly at: number;
};
