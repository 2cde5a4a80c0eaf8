import type { Redis } from 'ioredis';
import type { Store } from '../domain/ports/store.ts';
import { openAccessKeyStore } from './access-keys.ts';
import { openCalibrationStore } from './calibrations.ts';
import { openContextStore } from './contexts.ts';
import { openEventStore } from './events.ts';
import type { Keyspace } from './keys.ts';
import { openListingStore } from './listings.ts';
import { openPackStore } from './pack-store.ts';
import { openPassStore } from './passes.ts';
import { openProposalStore } from './proposals.ts';
import { openStepReader } from './recorded-steps.ts';
import { openStreamStore } from './streams.ts';
import { openSummaryStore } from './summaries.ts';
import { openSweepStore } from './sweep.ts';
import { openTurnStore } from './turns.ts';
import { openVersionStore } from './versions.ts';
import { openWebhookStore } from './webhooks.ts';

/**
 * Opens all storage ports in Redis.
 * @param keyspace from `openDatabase`, which has checked the settings
 */
export function openStore(redis: Redis, keyspace: Keyspace): Store {
  return {
    ...openTurnStore(redis, keyspace),
    ...openStepReader(redis, keyspace),
    ...openPassStore(redis, keyspace),
    ...openProposalStore(redis, keyspace),
    ...openVersionStore(redis, keyspace),
    ...openContextStore(redis, keyspace),
    ...openEventStore(redis, keyspace),
    ...openListingStore(redis, keyspace),
    ...openSummaryStore(redis, keyspace),
    ...openSweepStore(redis, keyspace),
    ...openPackStore(redis, keyspace),
    ...openCalibrationStore(redis, keyspace),
    ...openStreamStore(redis, keyspace),
    ...openAccessKeyStore(redis, keyspace),
    ...openWebhookStore(redis, keyspace),
  };
}
