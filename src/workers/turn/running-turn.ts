import type { ClaimedTurn } from '../../domain/ports/turn-store.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { ContextCache } from './context-cache.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { TurnJournal } from './turn-journal.ts';
import type { TurnPorts, TurnSettings } from './turn-ports.ts';

/** One claimed turn at work: from its claim to the write that settles or suspends it. */
export interface RunningTurn {
  readonly claimed: ClaimedTurn;
  /** with the system prompt of this turn */
  readonly prepared: PreparedAgent;
  /** what the caller gave; `{}` where it gave nothing */
  readonly turnContext: TurnContext;
  readonly journal: TurnJournal;
  readonly context: ContextCache;
  readonly keeper: LeaseKeeper;
  readonly ports: TurnPorts;
  readonly settings: TurnSettings;
}

/** No step begins any more here: the process stops, or another turn waits to run alone in it. */
export function mustHandBack({ ports: { shutdown, solo } }: Pick<RunningTurn, 'ports'>): boolean {
  return shutdown.begun.aborted || solo.isWanted;
}

/**
 * The same for every run of the same step, and for nothing else: what a provider or tool needs to take effect once. The turn's
 * time of acceptance tells it from one of the same name in a conversation that was erased.
 */
export function idempotencyKey({ claimed }: Pick<RunningTurn, 'claimed'>, step: string): string {
  const { conversation, turn } = claimed.lease;
  return `${conversation.tenant}/${conversation.id}/${turn}/${claimed.acceptedAt}/${step}`;
}
