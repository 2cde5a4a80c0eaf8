import type { IdSource } from '../../domain/clock.ts';
import type { TraceParent } from '../../domain/ids.ts';
import type { WakeQueue } from '../../jobs/ports.ts';
import type { AccessKeyStore } from '../../store/access-keys.ts';
import type { ContextStore } from '../../store/contexts.ts';
import type { EventNotices, EventStore } from '../../store/events.ts';
import type { ListingStore } from '../../store/listings.ts';
import type { PassIntake } from '../../store/passes.ts';
import type { ProposalStore } from '../../store/proposals.ts';
import type { StreamNotices, StreamReader } from '../../store/streams.ts';
import type { TurnIntake } from '../../store/turns.ts';
import type { VersionStore } from '../../store/versions.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';

type Store = TurnIntake &
  StreamReader &
  ContextStore &
  PassIntake &
  VersionStore &
  ProposalStore &
  EventStore &
  ListingStore &
  Pick<AccessKeyStore, 'readTokenSecret'>;

/** The stores that a client uses. A test can replace any one of them. */
export interface ClientStores {
  readonly turns: TurnIntake;
  readonly streams: StreamReader;
  readonly contexts: ContextStore;
  readonly passes: PassIntake;
  readonly versions: VersionStore;
  readonly proposals: ProposalStore;
  readonly events: EventStore;
  readonly listings: ListingStore;
  readonly tokens: Pick<AccessKeyStore, 'readTokenSecret'>;
}

export function storePorts(store: Store): ClientStores {
  return {
    turns: store,
    streams: store,
    contexts: store,
    passes: store,
    versions: store,
    proposals: store,
    events: store,
    listings: store,
    tokens: store,
  };
}

export interface ClientPorts extends ClientStores {
  /** Never rejects: if the job is lost, the turn only starts later. */
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly queues: Pick<WakeQueue, 'eraseJobs'>;
  readonly notifications: EventNotifications;
  readonly streamNotices: StreamNotices;
  readonly counterFor: (agent: string) => Promise<TokenCounter>;
  /** Receives failures that must not fail the client's call, such as a lost wake job. */
  readonly onError: (error: unknown) => void;
  readonly currentTrace: () => TraceParent | undefined;
  readonly ids: IdSource;
  readonly now: () => number;
}

/** A notification may be lost, so callers that wait also poll. */
export type EventNotifications = Pick<EventNotices, 'wait'>;
