import type { Store } from '../domain/ports/store.ts';
import type { TextListener } from '../domain/ports/text-deltas.ts';
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

/** All storage ports in memory, and a listener for the text that models publish. */
export type MemoryStore = Store & TextListener;

export function openMemoryStore(db: MemoryDatabase): MemoryStore {
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
    listen: (conversation, listener) => texts.listen(conversation, listener),
  };
}
