/** Where the gauges' figures come from. Ages in ms, 0 where there is nothing. What has no measure has no gauge. */
export interface Measures extends SharedMeasures {
  /** whether the shared state is this worker's to measure; absent: it is */
  readonly isMeasuring?: () => Promise<boolean>;
  /** ends when Redis has answered */
  readonly ping?: () => Promise<void>;
}

/** Of the state that all workers share. */
export interface SharedMeasures {
  /** jobs by queue and state */
  readonly countJobs?: () => Promise<readonly JobCount[]>;
  /** queue → how long the job that has waited longest has; 0 where none waits */
  readonly measureWaits?: () => Promise<ReadonlyMap<string, number>>;
  /** what is past its time, which passes are open, which turns have failed, what should have been erased */
  readonly measureShards?: () => Promise<ShardFigures>;
  /** model → how far counts are off for it */
  readonly readCalibrations?: () => Promise<ReadonlyMap<string, number>>;
  /** undefined where Redis may not be asked */
  readonly measureServers?: () => Promise<ServerFigures | undefined>;
}

export interface JobCount {
  readonly queue: string;
  readonly state: string;
  readonly count: number;
}

export interface ShardFigures {
  readonly overdue: Readonly<Record<string, number>>;
  readonly oldestOverdueMs: number;
  readonly openPasses: number;
  readonly oldestOpenPassMs: number;
  readonly failedTurns: number;
  /** for how long the oldest idle conversation should have been erased */
  readonly oldestIdleMs: number;
  /** records that are set aside */
  readonly quarantined: number;
}

export interface ServerFigures {
  readonly usedBytes: number;
  /** absent where Redis has no limit */
  readonly usedRatio?: number;
  readonly evictedKeys: number;
}
