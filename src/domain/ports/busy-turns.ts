import type { Backoff, ConversationState } from '../conversation.ts';
import type { Version } from '../version.ts';
import type { Lost, TurnLease } from './turn-store.ts';

/** A context version without the messages of turns that left the context. */
export interface TurnUndo {
  /** Live version from which the new one was made. If another is live, nothing is written: `version_changed`. */
  readonly expectedVersion: number;
  readonly version: Version;
  /** Context sizes that stop soft compaction until the context has grown. */
  readonly backoff: Backoff;
  readonly keepVersions: number;
}

export type UndoResult =
  /** `known`: nothing is left to undo, perhaps because an earlier attempt of this call did it. */
  | { readonly status: 'undone' | 'known'; readonly conversation: ConversationState }
  | { readonly status: 'version_changed'; readonly version: number }
  | Lost;

/** Operations of the running turn on turns that were enqueued with `onBusy`. Every write checks the lease. */
export interface BusyTurnStore {
  /**
   * Appends the messages of the turns that steer this turn to the log. Appends nothing while tool calls have no results.
   */
  takeSteering(
    lease: TurnLease,
  ): Promise<{ readonly status: 'taken'; readonly conversation: ConversationState } | Lost>;
  /**
   * Removes the messages that `undo` of the conversation lists from the context, before the first step of the next turn.
   * The lease of the turn that was settled last is valid, too, while no other turn is open.
   */
  undoTurns(lease: TurnLease, undo: TurnUndo): Promise<UndoResult>;
}
