import { QUEUES } from '../jobs/queues.ts';
import type { JobCount, SharedMeasures } from './measures.ts';
import type { LabelSet, SHARED_GAUGES } from './metric-catalogue.ts';

export type Series = readonly [labels: LabelSet, value: number];

type ValueOf<Name extends keyof SharedMeasures> = NonNullable<Awaited<ReturnType<NonNullable<SharedMeasures[Name]>>>>;

/** A gauge and the measure that it shows a part of. */
export interface Shown {
  readonly measure: keyof SharedMeasures;
  readonly list: (value: never) => readonly Series[];
}

/** Every shared gauge has its entry, or this does not compile. */
export const SHOWN: { readonly [Key in keyof typeof SHARED_GAUGES]: Shown } = {
  waitingTurns: show('countJobs', (counts) => one(countWaitingTurns(counts))),
  oldestWaitingTurn: show('measureWaits', (waits) => one(toSeconds(waits.get(QUEUES.turn) ?? 0))),
  oldestWaitingJob: show('measureWaits', (waits) =>
    [...waits].map(([queue, waitMs]) => [{ queue }, toSeconds(waitMs)]),
  ),
  openPasses: show('measureShards', ({ openPasses }) => one(openPasses)),
  oldestOpenPass: show('measureShards', ({ oldestOpenPassMs }) => one(toSeconds(oldestOpenPassMs))),
  failedTurns: show('measureShards', ({ failedTurns }) => one(failedTurns)),
  overdueEntries: show('measureShards', ({ overdue }) =>
    Object.entries(overdue).map(([kind, count]) => [{ kind }, count]),
  ),
  oldestOverdueEntry: show('measureShards', ({ oldestOverdueMs }) => one(toSeconds(oldestOverdueMs))),
  oldestOverdueErase: show('measureShards', ({ oldestIdleMs }) => one(toSeconds(oldestIdleMs))),
  quarantinedRecords: show('measureShards', ({ quarantined }) => one(quarantined)),
  modelCalibration: show('readCalibrations', (factors) => [...factors].map(([model, factor]) => [{ model }, factor])),
  redisMemory: show('measureServers', ({ usedRatio }) => (usedRatio === undefined ? [] : one(usedRatio))),
  redisMemoryBytes: show('measureServers', ({ usedBytes }) => one(usedBytes)),
  redisEvictedKeys: show('measureServers', ({ evictedKeys }) => one(evictedKeys)),
  jobs: show('countJobs', (counts) => counts.map(({ queue, state, count }) => [{ queue, state }, count])),
};

function show<Name extends keyof SharedMeasures>(measure: Name, list: (value: ValueOf<Name>) => Series[]): Shown {
  return { measure, list };
}

/**
 * A conversation whose turns wait for a worker has one wake in the turn queue, however many turns it has: those behind the
 * first could not be taken by another worker. To count them, too, every accept and every end of a turn would have to.
 */
function countWaitingTurns(counts: readonly JobCount[]): number {
  return counts
    .filter(({ queue, state }) => queue === QUEUES.turn && state !== 'active' && state !== 'failed')
    .reduce((sum, { count }) => sum + count, 0);
}

function one(value: number): Series[] {
  return [[{}, value]];
}

function toSeconds(ms: number): number {
  return ms / 1_000;
}
