import type { Store } from '../domain/ports/store.ts';
import { openMemoryCalibrationStore } from './calibration-store.ts';
import { openMemoryContextStore } from './context-store.ts';
import type { MemoryDatabase } from './database.ts';
import { openMemoryEventStore } from './event-store.ts';
import { openMemoryListingStore } from './listing-store.ts';
import { openMemoryPassStore } from './pass-store.ts';
import { openMemoryProposalStore } from './proposal-store.ts';
import { openMemorySummaryStore } from './summary-store.ts';
import { openMemorySweepStore } from './sweep-store.ts';
import { MemoryTextChannel } from './text-channel.ts';
import { openMemoryTurnStore } from './turn-store.ts';
import { openMemoryVersionStore } from './version-store.ts';

/** Every storage port over one database in memory. */
export function openMemoryStore(db: MemoryDatabase): Store {
  const texts = new MemoryTextChannel();
  return {
    ...openMemoryTurnStore(db),
    ...openMemoryPassStore(db),
    ...openMemoryProposalStore(db),
    ...openMemoryVersionStore(db),
    ...openMemoryContextStore(db),
    ...openMemoryEventStore(db),
    ...openMemoryListingStore(db),
    ...openMemorySummaryStore(db),
    ...openMemorySweepStore(db),
    ...openMemoryCalibrationStore(),
    publishText: (conversation, delta) => texts.publishText(conversation, delta),
  };
}
