import type { Policy } from '../../domain/policy.ts';
import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { Summarizer } from '../../domain/ports/summarizer.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import type { WorkerPorts } from '../worker-ports.ts';

export interface SummarizationPorts extends WorkerPorts {
  readonly contexts: Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog' | 'readSystem'>;
  readonly summaries: Pick<
    SummaryStore,
    'claimSummary' | 'heartbeatSummary' | 'recordSummary' | 'releaseSummary' | 'readPart' | 'recordPart'
  >;
  /**
   * Returns the summarizers for a policy in the order in which they are tried. The structural summarizer, which needs
   * no model, is the last.
   */
  readonly summarizers: (policy: Policy, agent: string) => readonly Summarizer[];
}
