import { QUEUES } from '../jobs/names.ts';
import type { SharedMeasures } from './measures.ts';
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
  waitingTurns: show('measureWaiting', ({ turns }) => one(turns)),
  oldestWaitingTurn: show('measureWaiting', ({ oldestMs }) => one(toSeconds(oldestMs.get(QUEUES.turn) ?? 0))),
  oldestWaitingJob: show('measureWaiting', ({ oldestMs }) =>
    [...oldestMs].map(([queue, waitMs]) => [{ queue }, toSeconds(waitMs)]),
  ),
  openPasses: show('measureShards', ({ openPasses }) => one(openPasses)),
  oldestOpenPass: show('measureShards', ({ oldestOpenPassMs }) => one(toSeconds(oldestOpenPassMs))),
  failedTurns: show('measureShards', ({ failedTurns }) => one(failedTurns)),
  overdueEntries: show('measureShards', ({ overdue }) =>
    Object.entries(overdue).map(([kind, count]) => [{ kind }, count]),
  ),
  oldestOverdueEntry: show('measureShards', ({ oldestOverdueMs }) => one(toSeconds(oldestOverdueMs))),
  modelCalibration: show('readCalibrations', (factors) => [...factors].map(([model, factor]) => [{ model }, factor])),
  redisMemory: show('measureServers', ({ usedRatio }) => (usedRatio === undefined ? [] : one(usedRatio))),
  redisMemoryBytes: show('measureServers', ({ usedBytes }) => one(usedBytes)),
  redisEvictedKeys: show('measureServers', ({ evictedKeys }) => one(evictedKeys)),
  jobs: show('countJobs', (counts) => counts.map(({ queue, state, count }) => [{ queue, state }, count])),
};

function show<Name extends keyof SharedMeasures>(measure: Name, list: (value: ValueOf<Name>) => Series[]): Shown {
  return { measure, list };
}

function one(value: number): Series[] {
  return [[{}, value]];
}

function toSeconds(ms: number): number {
  return ms / 1_000;
}
