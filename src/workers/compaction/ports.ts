import type { EventListener } from '../../domain/events.ts';
import type { Clock, IdSource } from '../../domain/ports/clock.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { PassStore } from '../../domain/ports/pass-store.ts';
import type { WakeQueue } from '../../domain/ports/queue.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import type { PreparedAgents } from '../prepared-agent.ts';
import type { Shutdown } from '../shutdown.ts';
import type { Timers } from '../timers.ts';
import type { Shadow } from './shadow.ts';

export interface CompactionPorts {
  readonly passes: PassStore;
  readonly contexts: Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog' | 'readSystem'>;
  readonly summaries: Pick<SummaryStore, 'readSummaries'>;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly agents: PreparedAgents;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly timers: Timers;
  readonly onEvent: EventListener;
  readonly tracing: Tracing;
  readonly shutdown: Shutdown;
  /** Second policy, measured at every pass that ends here. */
  readonly shadow?: Shadow;
}
