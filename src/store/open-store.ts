import type { Redis } from 'ioredis';
import type { Store } from '../domain/ports/store.ts';
import { openCalibrationStore } from './calibrations/calibration-store.ts';
import { openContextStore } from './contexts/context-store.ts';
import { openEventStore } from './events/event-store.ts';
import type { Keyspace } from './keys.ts';
import { openListingStore } from './listings/listing-store.ts';
import { openPassStore } from './passes/pass-store.ts';
import { openProposalStore } from './proposals/proposal-store.ts';
import { openSummaryStore } from './summaries/summary-store.ts';
import { openSweepStore } from './sweep/sweep-store.ts';
import { openTextPublisher } from './text-deltas.ts';
import { openTurnStore } from './turns/turn-store.ts';
import { openVersionStore } from './versions/version-store.ts';

/** @param keyspace of a database that was opened, so that its settings are known to fit */
export function openStore(redis: Redis, keyspace: Keyspace): Store {
  return {
    ...openTurnStore(redis, keyspace),
    ...openPassStore(redis, keyspace),
    ...openProposalStore(redis, keyspace),
    ...openVersionStore(redis, keyspace),
    ...openContextStore(redis, keyspace),
    ...openEventStore(redis, keyspace),
    ...openListingStore(redis, keyspace),
    ...openSummaryStore(redis, keyspace),
    ...openSweepStore(redis, keyspace),
    ...openCalibrationStore(redis, keyspace),
    ...openTextPublisher(redis, keyspace),
  };
}
