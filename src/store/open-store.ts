import type { Redis } from 'ioredis';
import { openAccessKeyStore } from './access-keys.ts';
import { openCalibrationStore } from './calibrations.ts';
import { openContextStore } from './contexts.ts';
import { openEventStore } from './events.ts';
import type { Keyspace } from './keys.ts';
import { openListingStore } from './listings.ts';
import { openPackStore } from './pack-store.ts';
import { openPassStore } from './passes.ts';
import { openProposalStore } from './proposals.ts';
import { openStreamReader, openStreamWriter } from './streams.ts';
import { openSummaryStore } from './summaries.ts';
import { openSweepStore } from './sweep.ts';
import { openTurnIntake, openTurnStore } from './turns.ts';
import { openVersionStore } from './versions.ts';
import { openWebhookStore } from './webhooks.ts';

/** @param keyspace from `openDatabase`, which has checked the settings */
export function openStore(redis: Redis, keyspace: Keyspace) {
  return {
    ...openTurnStore(redis, keyspace),
    ...openTurnIntake(redis, keyspace),
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
    ...openStreamWriter(redis, keyspace),
    ...openStreamReader(redis, keyspace),
    ...openAccessKeyStore(redis, keyspace),
    ...openWebhookStore(redis, keyspace),
  };
}

export type Store = ReturnType<typeof openStore>;
