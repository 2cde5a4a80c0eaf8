import type { WakeQueue } from '../../jobs/ports.ts';
import type { ContextReader } from '../../store/contexts.ts';
import type { PassStore } from '../../store/passes.ts';
import type { SummaryStore } from '../../store/summaries.ts';
import type { WorkerPorts } from '../worker-ports.ts';
import type { Shadow } from './shadow.ts';

export interface CompactionPorts extends WorkerPorts {
  readonly passes: PassStore;
  readonly contexts: Pick<ContextReader, 'readConversation' | 'readContext' | 'readLog' | 'readSystem'>;
  readonly summaries: Pick<SummaryStore, 'readSummaries'>;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  /** A second policy that is measured, without effect, at every compaction pass that this worker ends. */
  readonly shadow?: Shadow;
}
