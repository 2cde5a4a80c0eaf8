import type { ContextReader } from '../../domain/ports/context-store.ts';
import type { PassStore } from '../../domain/ports/pass-store.ts';
import type { WakeQueue } from '../../domain/ports/queue.ts';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
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
