import type { TraceParent } from '../domain/ids.ts';
import type { IdSource } from '../domain/ports/clock.ts';
import type { ContextStore } from '../domain/ports/context-store.ts';
import type { EventStore } from '../domain/ports/event-store.ts';
import type { ListingStore } from '../domain/ports/listing-store.ts';
import type { PassIntake } from '../domain/ports/pass-store.ts';
import type { ProposalStore } from '../domain/ports/proposal-store.ts';
import type { WakeQueue } from '../domain/ports/queue.ts';
import type { TextListener } from '../domain/ports/text-deltas.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import type { TurnIntake } from '../domain/ports/turn-store.ts';
import type { VersionStore } from '../domain/ports/version-store.ts';

/** What the client is made of. */
export interface ClientPorts {
  readonly turns: TurnIntake;
  readonly contexts: ContextStore;
  readonly passes: PassIntake;
  readonly versions: VersionStore;
  readonly proposals: ProposalStore;
  readonly events: EventStore;
  readonly listings: ListingStore;
  /** never rejects: a wake that is lost costs latency, nothing else */
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly notices: SettlementNotices;
  readonly texts: TextListener;
  /** the counter of an agent's model; `o200k_base` unless the service says otherwise */
  readonly counterFor: (agent: string) => Promise<TokenCounter>;
  /** told of what went wrong beside a call that succeeded */
  readonly onError: (error: unknown) => void;
  /** the span of the caller, where one is active */
  readonly currentTrace: () => TraceParent | undefined;
  readonly ids: IdSource;
  readonly now: () => number;
}

/** Tells that something of a conversation happened. A notice may be lost: who waits also looks. */
export interface SettlementNotices {
  /** resolves at the next notice of the conversation, after `ms` or once the signal aborts, whichever comes first */
  wait(conversation: { readonly tenant: string; readonly id: string }, ms: number, signal?: AbortSignal): Promise<void>;
}
