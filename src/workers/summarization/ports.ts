import type { EventListener } from '../../domain/events.ts';
import type { Policy } from '../../domain/policy.ts';
import type { Clock, IdSource } from '../../domain/ports/clock.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { Summarizer } from '../../domain/ports/summarizer.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import type { Tracing } from '../../domain/ports/tracing.ts';
import type { PreparedAgents } from '../prepared-agent.ts';
import type { Shutdown } from '../shutdown.ts';
import type { Timers } from '../timers.ts';

export interface SummarizationPorts {
  readonly contexts: Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog'>;
  readonly summaries: Pick<
    SummaryStore,
    'claimSummary' | 'heartbeatSummary' | 'recordSummary' | 'releaseSummary' | 'readPart' | 'recordPart'
  >;
  /** Chain of summarizers for a policy, tried in order, with the structural one last. */
  readonly summarizers: (policy: Policy, agent: string) => readonly Summarizer[];
  readonly agents: PreparedAgents;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly timers: Timers;
  readonly onEvent: EventListener;
  readonly tracing: Tracing;
  readonly shutdown: Shutdown;
}
