import { cross, type MetricSpec } from './metric-spec.ts';

/** Do workers keep what they hold, and what fails around them? */
export const WORKER_METRICS = {
  leasesLost: {
    type: 'counter',
    name: 'turnfold_leases_lost_total',
    help: 'Turns and passes that a worker stopped because they were no longer its own (gone: erased).',
    labels: ['what', 'why'],
    start: [
      ...cross({ what: ['turn'], why: ['fenced', 'gone', 'expired'] }),
      ...cross({ what: ['pass'], why: ['fenced', 'gone'] }),
    ],
  },
  workerFailures: {
    type: 'counter',
    name: 'turnfold_worker_failures_total',
    help: 'Failures that belong to no turn: a sweep, a job, a summarizer, a service that is away.',
    labels: ['where'],
  },
  measureFailures: {
    type: 'counter',
    name: 'turnfold_measure_failures_total',
    help: 'Measures behind a gauge that failed or came too late; their gauges are absent meanwhile.',
    labels: ['measure'],
  },
} as const satisfies Record<string, MetricSpec>;

/** What a worker says of itself: every page has them, and their sum over the workers means something. */
export const WORKER_GAUGES = {
  concurrency: {
    type: 'gauge',
    name: 'turnfold_worker_concurrency',
    help: 'Jobs that this worker takes at a time, by role; 0 where it has not the role.',
    labels: ['role'],
  },
  isMeasuring: {
    type: 'gauge',
    name: 'turnfold_worker_measures_shared_state',
    help: 'Whether this worker is the one that measures the shared state now (1) and shows its gauges.',
    labels: [],
  },
  redisUp: {
    type: 'gauge',
    name: 'turnfold_redis_up',
    help: 'Whether Redis has answered this worker just now (1).',
    labels: [],
  },
  redisPing: {
    type: 'gauge',
    name: 'turnfold_redis_ping_seconds',
    help: 'Time that Redis took to answer a ping of this worker; absent where it did not.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;
