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
    help: 'Conversations whose next turn waits for a worker: wakes in the turn queue that nobody has taken.',
    labels: [],
  },
  oldestWaitingTurn: {
    type: 'gauge',
    name: 'turnfold_oldest_waiting_turn_age_seconds',
    help: 'How long the turn wake that has waited longest has waited for a worker.',
    labels: [],
  },
  oldestWaitingJob: {
    type: 'gauge',
    name: 'turnfold_oldest_waiting_job_age_seconds',
    help: 'How long the job that has waited longest in a queue has waited for a worker, since it came or came back.',
    labels: ['queue'],
  },
  openPasses: {
    type: 'gauge',
    name: 'turnfold_open_passes',
    help: 'Passes requested or in progress, so conversations over a threshold; those that wait for approval left out.',
    labels: [],
  },
  oldestOpenPass: {
    type: 'gauge',
    name: 'turnfold_oldest_open_pass_age_seconds',
    help: 'How long ago the oldest of those passes was requested.',
    labels: [],
  },
  failedTurns: {
    type: 'gauge',
    name: 'turnfold_failed_turns',
    help: 'Failed turns of the last seven days, which can be brought again; those that were are among them.',
    labels: [],
  },
  modelCalibration: {
    type: 'gauge',
    name: 'turnfold_model_calibration_ratio',
    help: 'What the provider counts of a request ÷ our own count, by which every size is multiplied (0.5 to 2).',
    labels: ['model'],
  },
  overdueEntries: {
    type: 'gauge',
    name: 'turnfold_overdue_entries',
    help: 'Turns, passes, scheduled turns and idle conversations that are past their time: somebody should have looked.',
    labels: ['kind'],
  },
  oldestOverdueEntry: {
    type: 'gauge',
    name: 'turnfold_oldest_overdue_entry_age_seconds',
    help: 'How far the oldest such turn, pass or scheduled turn is past its time; an erase may wait behind them.',
    labels: [],
  },
  oldestOverdueErase: {
    type: 'gauge',
    name: 'turnfold_oldest_overdue_erase_age_seconds',
    help: 'For how long the oldest idle conversation should have been erased; one whose erase fails is not seen here.',
    labels: [],
  },
  quarantinedRecords: {
    type: 'gauge',
    name: 'turnfold_quarantined_records',
    help: 'Records that are set aside because they could not be read, until somebody repairs or drops them.',
    labels: [],
  },
  redisMemory: {
    type: 'gauge',
    name: 'turnfold_redis_memory_ratio',
    help: "Memory that Redis uses ÷ its maxmemory; absent where it has none. Of a Cluster's masters the highest.",
    labels: [],
  },
  redisMemoryBytes: {
    type: 'gauge',
    name: 'turnfold_redis_memory_bytes',
    help: "Memory that Redis uses; of a Cluster's masters the highest.",
    labels: [],
  },
  redisEvictedKeys: {
    type: 'gauge',
    name: 'turnfold_redis_evicted_keys',
    help: 'Keys that Redis has thrown away for want of memory since it started: any is lost data.',
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
