import type { Redis } from 'ioredis';
import type { CalibrationStore } from '../domain/ports/calibration-store.ts';
import type { ContextStore } from '../domain/ports/context-store.ts';
import type { EventStore } from '../domain/ports/event-store.ts';
import type { ListingStore } from '../domain/ports/listing-store.ts';
import type { PassStore } from '../domain/ports/pass-store.ts';
import type { ProposalStore } from '../domain/ports/proposal-store.ts';
import type { SummaryStore } from '../domain/ports/summary-store.ts';
import type { SweepStore } from '../domain/ports/sweep-store.ts';
import type { TextPublisher } from '../domain/ports/text-deltas.ts';
import type { TurnIntake, TurnStore } from '../domain/ports/turn-store.ts';
import type { VersionStore } from '../domain/ports/version-store.ts';
import { openCalibrationStore } from './calibrations.ts';
import { openContextStore } from './contexts.ts';
import { openEventStore } from './events.ts';
import type { Keyspace } from './keys.ts';
import { openListingStore } from './listings.ts';
import { openPassStore } from './passes.ts';
import { openProposalStore } from './proposals.ts';
import { openSummaryStore } from './summaries.ts';
import { openSweepStore } from './sweep.ts';
import { openTextPublisher } from './text-deltas.ts';
import { openTurnStore } from './turns.ts';
import { openVersionStore } from './versions.ts';

/** Every storage port over one connection. */
export type Store = TurnStore &
  TurnIntake &
  PassStore &
  ProposalStore &
  VersionStore &
  ContextStore &
  EventStore &
  ListingStore &
  SummaryStore &
  SweepStore &
  CalibrationStore &
  TextPublisher;

/** @param keyspace from `openDatabase`, which has checked the settings */
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
