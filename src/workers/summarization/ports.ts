import type { Policy } from '../../domain/policy.ts';
import type { Summarizer } from '../../domain/summarizer.ts';
import type { ContextReader } from '../../store/contexts.ts';
import type { SummaryStore } from '../../store/summaries.ts';
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
