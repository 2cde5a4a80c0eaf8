import { COMPACTION } from './compaction.ts';
import type { Dashboard } from './dashboard.ts';
import { OVERVIEW } from './overview.ts';
import { PROVIDERS } from './providers.ts';
import { QUEUES } from './queues.ts';
import { TURNS } from './turns.ts';

/** In the order of looking during an incident. */
export const DASHBOARDS: readonly Dashboard[] = [OVERVIEW, TURNS, COMPACTION, QUEUES, PROVIDERS];
