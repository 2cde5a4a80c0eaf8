import type { NamedConversation } from '../ids.ts';
import type { TurnFailure } from '../turn.ts';

/** Query for failed turns. Their records are deleted as late as those of all settled turns. */
export interface FailedQuery {
  /** Only turns that failed at or after this time, in ms since epoch. */
  readonly since: number;
  readonly tenant?: string | undefined;
  readonly code?: string | undefined;
  readonly limit: number;
}

/** A failed turn, as `listFailed` returns it. */
export interface FailedTurn extends NamedConversation {
  readonly turn: string;
  readonly agent: string;
  /** Time of the failure in ms since epoch, by the clock of Redis. */
  readonly failedAt: number;
  readonly failure: TurnFailure;
  /** Failed turn whose input this turn ran again. */
  readonly redriveOf?: string;
  /** Latest turn that ran this turn's input again. */
  readonly redrivenAs?: string;
}
