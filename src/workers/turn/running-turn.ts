import type { TurnContext } from '../../domain/turn-context.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { ContextCache } from './context-cache.ts';
import type { Ending } from './ending.ts';
import type { PieceStream } from './piece-stream.ts';
import type { TurnJournal } from './turn-journal.ts';
import type { TurnPorts, TurnSettings } from './turn-ports.ts';
import type { FailedEnd } from './turn-states.ts';

/** A turn that this worker has claimed and not yet settled, suspended or handed back. */
export interface RunningTurn {
  readonly claimed: ClaimedTurn;
  /** The agent. The state `brief` adds the system prompt of this turn. */
  prepared: PreparedAgent;
  /** The `context` that the caller passed with the turn. Until `brief` has read it: `{}`. */
  turnContext: TurnContext;
  readonly journal: TurnJournal;
  readonly context: ContextCache;
  readonly ending: Ending;
  /** Stream of what the turn's models write, for readers of the turn. */
  readonly stream: PieceStream;
  readonly ports: TurnPorts;
  readonly settings: TurnSettings;
  /** When and how the turn ends for lack of time, by this process's clock. */
  limit?: { readonly until: number; readonly failed: FailedEnd };
}

/**
 * True if the turn may begin no further step in this process: the process stops, or another turn waits for the
 * process's exclusive lock.
 */
export function mustHandBack({ ports: { shutdown, solo } }: Pick<RunningTurn, 'ports'>): boolean {
  return shutdown.begun.aborted || solo.isWanted;
}
