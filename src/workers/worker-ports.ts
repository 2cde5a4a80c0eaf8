import type { Clock, IdSource } from '../domain/clock.ts';
import type { EventLoop } from '../domain/event-loop.ts';
import type { EventListener } from '../domain/events.ts';
import type { Policy } from '../domain/policy.ts';
import type { Summarizer } from '../domain/summarizer.ts';
import type { Tracing } from '../domain/tracing.ts';
import type { ContextReader } from '../store/contexts.ts';
import type { SummaryStore } from '../store/summaries.ts';
import type { AgentsElsewhere } from './agents-elsewhere.ts';
import type { Gates } from './gates.ts';
import type { PreparedAgents } from './prepared-agent.ts';
import type { Shutdown } from './shutdown.ts';
import type { Timers } from './timers.ts';

/** Ports of all workers. Each kind of work adds its own stores and queues. */
export interface WorkerPorts {
  readonly agents: PreparedAgents;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Source of ids for owners of leases. The ids begin with `ownerPrefix` of the worker. */
  readonly owners: IdSource;
  readonly timers: Timers;
  /** Monitor of the event loop. Undefined: no block of the event loop is noticed. */
  readonly loop?: EventLoop | undefined;
  readonly onEvent: EventListener;
  readonly tracing: Tracing;
  readonly shutdown: Shutdown;
  /** Decides about agents of other workers. Undefined: work of agents that this worker lacks fails at once. */
  readonly elsewhere?: AgentsElsewhere | undefined;
  /** Shared limits of models. Undefined: every call is made at once. */
  readonly gates?: Gates | undefined;
}

export interface SummarizationPorts extends WorkerPorts {
  readonly contexts: Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog' | 'readSystem' | 'readOwn'>;
  readonly summaries: Pick<
    SummaryStore,
    'claimSummary' | 'heartbeatSummary' | 'recordSummary' | 'releaseSummary' | 'readPart' | 'recordPart'
  >;
  /** Summarizers in the order in which they are tried. The last one, the structural summarizer, needs no model. */
  readonly summarizers: (policy: Policy, agent: string) => readonly Summarizer[];
}
