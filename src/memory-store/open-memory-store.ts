import type { Store } from '../domain/ports/store.ts';
import type { StreamNotices } from '../domain/ports/turn-streams.ts';
import { openMemoryAccessKeyStore } from './access-key-store.ts';
import { openMemoryCalibrationStore } from './calibration-store.ts';
import { openMemoryContextStore } from './context-store.ts';
import type { MemoryDatabase } from './database.ts';
import { openMemoryEventStore } from './event-store.ts';
import { openMemoryListingStore } from './listing-store.ts';
import { openMemoryPackStore } from './pack-store.ts';
import { openMemoryPassStore } from './pass-store.ts';
import { openMemoryProposalStore } from './proposal-store.ts';
import { openMemoryStepReader } from './recorded-steps.ts';
import { openMemoryStreamStore } from './stream-store.ts';
import { openMemorySummaryStore } from './summary-store.ts';
import { openMemorySweepStore } from './sweep-store.ts';
import { openMemoryTurnStore } from './turn-store.ts';
import { openMemoryVersionStore } from './version-store.ts';
import { openMemoryWebhookStore } from './webhook-store.ts';

/** All storage ports in memory, and the notices to readers of streams. */
export type MemoryStore = Store & StreamNotices;

export function openMemoryStore(db: MemoryDatabase): MemoryStore {
  return {
    ...openMemoryTurnStore(db),
    ...openMemoryStepReader(db),
    ...openMemoryPassStore(db),
    ...openMemoryProposalStore(db),
    ...openMemoryVersionStore(db),
    ...openMemoryContextStore(db),
    ...openMemoryEventStore(db),
    ...openMemoryListingStore(db),
    ...openMemorySummaryStore(db),
    ...openMemorySweepStore(db),
    ...openMemoryPackStore(db),
    ...openMemoryCalibrationStore(),
    ...openMemoryStreamStore(db),
    ...openMemoryAccessKeyStore(db),
    ...openMemoryWebhookStore(db),
  };
}
