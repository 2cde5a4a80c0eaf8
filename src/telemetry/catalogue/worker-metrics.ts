import { DEFERRED_WRITES } from '../../domain/events.ts';
import { QUARANTINE_SETS } from '../../domain/ports/sweep-store.ts';
import { QUEUES } from '../../jobs/queues.ts';
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
    help: 'Turns and passes that a worker stopped because it no longer owned them. gone: erased. canceled: no failure.',
    labels: ['what', 'why'],
    start: [
      ...cross({ what: ['turn'], why: ['fenced', 'gone', 'canceled', 'expired'] }),
      ...cross({ what: ['pass'], why: ['fenced', 'gone'] }),
    ],
  },
  writesHeld: {
    type: 'counter',
    name: 'turnfold_writes_held_total',
    help: 'Results and other writes that a worker held for retry because Redis refused writes, each counted once.',
    labels: ['write'],
    start: cross({ write: DEFERRED_WRITES }),
  },
  leasesReturned: {
    type: 'counter',
    name: 'turnfold_leases_returned_total',
    help: 'Turns, passes and summaries that a worker returned unfinished: it stopped, or a turn had to run alone. cut_off: a call was aborted.',
    labels: ['what', 'cut_off'],
    start: cross({ what: ['turn', 'pass', 'summary'], cut_off: ['true', 'false'] }),
  },
  jobReclaims: {
    type: 'counter',
    name: 'turnfold_job_reclaims_total',
    help: 'Jobs queued again because their worker died, froze, lost Redis or stopped, by role.',
    labels: ['role'],
    start: cross({ role: Object.values(QUEUES) }), // each role has the queue of the same name
  },
  workersLost: {
    type: 'counter',
    name: 'turnfold_workers_lost_total',
    help: 'Workers that went silent for 20 s without a stop, by role. life: short (less than 5 min) or long.',
    labels: ['role', 'life'],
    start: cross({ role: Object.values(QUEUES), life: ['short', 'long'] }),
  },
  conversationsExpired: {
    type: 'counter',
    name: 'turnfold_conversations_expired_total',
    help: 'Conversations erased because the conversationTtl of their policy passed.',
    labels: [],
    start: ONE,
  },
  recordsQuarantined: {
    type: 'counter',
    name: 'turnfold_records_quarantined_total',
    help: 'Unreadable records set aside, by the set that named them (key: a whole key).',
    labels: ['set'],
    start: cross({ set: QUARANTINE_SETS }),
  },
  jobsDropped: {
    type: 'counter',
    name: 'turnfold_jobs_dropped_total',
    help: 'Unreadable jobs removed from their queue.',
    labels: ['queue'],
    start: cross({ queue: Object.values(QUEUES) }),
  },
  workerFailures: {
    type: 'counter',
    name: 'turnfold_worker_failures_total',
    help: 'Failures outside of turns: in a sweep, a job, a summarizer or an unavailable service.',
    labels: ['where'],
    start: cross({ where: FAILURE_PLACES }),
  },
  measureFailures: {
    type: 'counter',
    name: 'turnfold_measure_failures_total',
    help: 'Measurements that failed or timed out. Their gauges are absent meanwhile.',
    labels: ['measure'],
  },
} as const satisfies Record<string, MetricSpec>;

/** Gauges that every worker shows about itself. Their sum over the workers is meaningful. */
export const WORKER_GAUGES = {
  concurrency: {
    type: 'gauge',
    name: 'turnfold_worker_concurrency',
    help: 'Jobs that this worker takes at a time by role, at least one for each queue shard. 0 for other roles.',
    labels: ['role'],
  },
  isMeasuring: {
    type: 'gauge',
    name: 'turnfold_worker_measures_shared_state',
    help: 'Set to 1 if this worker measures the shared state and shows its gauges, else 0.',
    labels: [],
  },
  redisUp: {
    type: 'gauge',
    name: 'turnfold_redis_up',
    help: 'Set to 1 if Redis answered this worker just now, else 0. For a Cluster, every master with slots.',
    labels: [],
  },
  redisPing: {
    type: 'gauge',
    name: 'turnfold_redis_ping_seconds',
    help: 'Time of a ping from this worker to Redis. Absent without an answer.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;
