import type { ClaimedTurn } from '../../domain/ports/turn-store.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { ContextCache } from './context-cache.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { TurnJournal } from './turn-journal.ts';
import type { TurnPorts, TurnSettings } from './turn-ports.ts';

/** A claimed turn, from its claim to the write that settles or suspends it. */
export interface RunningTurn {
  readonly claimed: ClaimedTurn;
  /** The agent with the system prompt of this turn. */
  readonly prepared: PreparedAgent;
  /** Context that the caller passed with the turn, or `{}`. */
  readonly turnContext: TurnContext;
  readonly journal: TurnJournal;
  readonly context: ContextCache;
  readonly keeper: LeaseKeeper;
  readonly ports: TurnPorts;
  readonly settings: TurnSettings;
}

/** True if no further step may begin here: the process stops, or another turn waits to run alone in it. */
export function mustHandBack({ ports: { shutdown, solo } }: Pick<RunningTurn, 'ports'>): boolean {
  return shutdown.begun.aborted || solo.isWanted;
}
