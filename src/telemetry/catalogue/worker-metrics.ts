import { HELD_WRITES } from '../../domain/events.ts';
import { QUARANTINE_SETS } from '../../domain/ports/sweep-store.ts';
import { QUEUES } from '../../jobs/names.ts';
import { cross, type MetricSpec, ONE } from './metric-spec.ts';

/** Places with fixed names. Summarizers and measures add a place at their first failure, which no rate sees. */
const FAILURE_PLACES = [
  'store',
  'connection',
  'start',
  'close',
  'outage',
  ...Object.values(QUEUES),
  'sweeper',
  'calibration',
  'presence',
  'turn end',
  'text',
  'shadow',
  'listener',
  'content listener',
];

/** Metrics of workers: leases, held writes, failures. */
export const WORKER_METRICS = {
  leasesLost: {
    type: 'counter',
    name: 'turnfold_leases_lost_total',
    help: 'Turns and passes that a worker stopped because they were no longer its own (gone: erased; canceled: nobody’s failure).',
    labels: ['what', 'why'],
    start: [
      ...cross({ what: ['turn'], why: ['fenced', 'gone', 'canceled', 'expired'] }),
      ...cross({ what: ['pass'], why: ['fenced', 'gone'] }),
    ],
  },
  writesHeld: {
    type: 'counter',
    name: 'turnfold_writes_held_total',
    help: 'Results and other writes that a worker held and repeated because Redis took no writes, each counted once.',
    labels: ['write'],
    start: cross({ write: HELD_WRITES }),
  },
  leasesReturned: {
    type: 'counter',
    name: 'turnfold_leases_returned_total',
    help: 'Turns, passes and summaries that a worker handed back before they were done: it stopped, or a turn had to run alone. cut_off: amid a call, by the deadline of the stop.',
    labels: ['what', 'cut_off'],
    start: cross({ what: ['turn', 'pass', 'summary'], cut_off: ['true', 'false'] }),
  },
  jobReclaims: {
    type: 'counter',
    name: 'turnfold_job_reclaims_total',
    help: 'Jobs that wait again because the worker that had them died, froze, lost Redis or stopped before it was done, by its role.',
    labels: ['role'],
    start: cross({ role: Object.values(QUEUES) }), // each role has the queue of the same name
  },
  workersLost: {
    type: 'counter',
    name: 'turnfold_workers_lost_total',
    help: 'Workers that went silent for 20 s without having stopped, by role; life: short (less than 5 min) or long.',
    labels: ['role', 'life'],
    start: cross({ role: Object.values(QUEUES), life: ['short', 'long'] }),
  },
  conversationsExpired: {
    type: 'counter',
    name: 'turnfold_conversations_expired_total',
    help: 'Conversations erased because they had rested for the conversationTtl of their policy.',
    labels: [],
    start: ONE,
  },
  recordsQuarantined: {
    type: 'counter',
    name: 'turnfold_records_quarantined_total',
    help: 'Records in Redis that could not be read and were set aside, by the set that named them (key: a whole key).',
    labels: ['set'],
    start: cross({ set: QUARANTINE_SETS }),
  },
  jobsDropped: {
    type: 'counter',
    name: 'turnfold_jobs_dropped_total',
    help: 'Jobs that were removed from their queue because their data could not be read.',
    labels: ['queue'],
    start: cross({ queue: Object.values(QUEUES) }),
  },
  workerFailures: {
    type: 'counter',
    name: 'turnfold_worker_failures_total',
    help: 'Failures that belong to no turn: a sweep, a job, a summarizer, a service that is away.',
    labels: ['where'],
    start: cross({ where: FAILURE_PLACES }),
  },
  measureFailures: {
    type: 'counter',
    name: 'turnfold_measure_failures_total',
    help: 'Measures behind a gauge that failed or came too late; their gauges are absent meanwhile.',
    labels: ['measure'],
  },
} as const satisfies Record<string, MetricSpec>;

/** Gauges that every worker shows about itself. Their sum over the workers is meaningful. */
export const WORKER_GAUGES = {
  concurrency: {
    type: 'gauge',
    name: 'turnfold_worker_concurrency',
    help: 'Jobs that this worker takes at a time, by role, one of each queue shard at least; 0 where it has not the role.',
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
    help: 'Whether Redis has answered this worker just now (1); of a Cluster, every master that has slots.',
    labels: [],
  },
  redisPing: {
    type: 'gauge',
    name: 'turnfold_redis_ping_seconds',
    help: 'Time that Redis took to answer a ping of this worker; absent where it did not.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;
