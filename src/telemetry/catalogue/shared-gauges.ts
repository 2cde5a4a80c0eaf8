import type { MetricSpec } from './metric-spec.ts';

/**
 * Gauges of the state that all workers share. One worker at a time holds the `gauge-lease`, measures and shows them.
 * So each series exists once and Redis is asked once, for any number of replicas. While the lease moves, two workers
 * or none may show them for some seconds. Queries take the max, and alerts the max over a minute.
 */
export const SHARED_GAUGES = {
  waitingTurns: {
    type: 'gauge',
    name: 'turnfold_waiting_turns',
    help: 'Conversations whose next turn waits for a worker: waiting wakes in the turn queue.',
    labels: [],
  },
  oldestWaitingTurn: {
    type: 'gauge',
    name: 'turnfold_oldest_waiting_turn_age_seconds',
    help: 'Age of the oldest turn wake that waits for a worker.',
    labels: [],
  },
  oldestWaitingJob: {
    type: 'gauge',
    name: 'turnfold_oldest_waiting_job_age_seconds',
    help: 'Age of the oldest waiting job of a queue, since it was added or queued again.',
    labels: ['queue'],
  },
  openPasses: {
    type: 'gauge',
    name: 'turnfold_open_passes',
    help: 'Passes requested or in progress, without those that wait for approval.',
    labels: [],
  },
  oldestOpenPass: {
    type: 'gauge',
    name: 'turnfold_oldest_open_pass_age_seconds',
    help: 'Age of the oldest open pass.',
    labels: [],
  },
  failedTurns: {
    type: 'gauge',
    name: 'turnfold_failed_turns',
    help: 'Failed turns of the last seven days, including those that were re-driven.',
    labels: [],
  },
  modelCalibration: {
    type: 'gauge',
    name: 'turnfold_model_calibration_ratio',
    help: 'Count of a request by the provider ÷ our own (0.5 to 2). Every size is multiplied by this.',
    labels: ['model'],
  },
  overdueEntries: {
    type: 'gauge',
    name: 'turnfold_overdue_entries',
    help: 'Turns, passes, scheduled turns and idle conversations that are past their time, so no sweep took them.',
    labels: ['kind'],
  },
  oldestOverdueEntry: {
    type: 'gauge',
    name: 'turnfold_oldest_overdue_entry_age_seconds',
    help: 'Age of the oldest overdue turn, pass or scheduled turn. Erases may wait behind them.',
    labels: [],
  },
  oldestOverdueErase: {
    type: 'gauge',
    name: 'turnfold_oldest_overdue_erase_age_seconds',
    help: 'Time by which the oldest idle conversation has outlived its idle TTL. Failing erases do not count.',
    labels: [],
  },
  quarantinedRecords: {
    type: 'gauge',
    name: 'turnfold_quarantined_records',
    help: 'Unreadable records that are set aside until they are repaired or dropped.',
    labels: [],
  },
  redisMemory: {
    type: 'gauge',
    name: 'turnfold_redis_memory_ratio',
    help: 'Memory that Redis uses ÷ its maxmemory. Absent without maxmemory. For a Cluster, the highest of its masters.',
    labels: [],
  },
  redisMemoryBytes: {
    type: 'gauge',
    name: 'turnfold_redis_memory_bytes',
    help: 'Memory that Redis uses. For a Cluster, the highest of its masters.',
    labels: [],
  },
  redisEvictedKeys: {
    type: 'gauge',
    name: 'turnfold_redis_evicted_keys',
    help: 'Keys that Redis has evicted since it started. Each is lost data.',
    labels: [],
  },
  /** Named as in BullMQ's own exporter, so that its dashboards work. */
  jobs: {
    type: 'gauge',
    name: 'bullmq_job_count',
    help: 'Jobs in the queues, by state.',
    labels: ['queue', 'state'],
  },
} as const satisfies Record<string, MetricSpec>;
