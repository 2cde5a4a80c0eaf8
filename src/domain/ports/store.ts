import type { AccessKeyStore } from './access-key-store.ts';
import type { BusyTurnStore } from './busy-turns.ts';
import type { CalibrationStore } from './calibration-store.ts';
import type { ContextStore } from './context-store.ts';
import type { EventStore } from './event-store.ts';
import type { ListingStore } from './listing-store.ts';
import type { PackStore } from './pack-store.ts';
import type { PassStore } from './pass-store.ts';
import type { ProposalStore } from './proposal-store.ts';
import type { StepReader } from './recorded-steps.ts';
import type { SummaryStore } from './summary-store.ts';
import type { SweepStore } from './sweep-store.ts';
import type { TurnIntake, TurnStore } from './turn-store.ts';
import type { StreamReader, StreamWriter } from './turn-streams.ts';
import type { VersionStore } from './version-store.ts';
import type { WebhookStore } from './webhook-store.ts';

/** All storage interfaces of one database. */
export type Store = TurnStore &
  BusyTurnStore &
  TurnIntake &
  StepReader &
  PassStore &
  ProposalStore &
  VersionStore &
  ContextStore &
  EventStore &
  ListingStore &
  SummaryStore &
  SweepStore &
  PackStore &
  CalibrationStore &
  StreamWriter &
  StreamReader &
  AccessKeyStore &
  WebhookStore;
