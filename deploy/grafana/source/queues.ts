import { GAUGES, METRICS } from '../../../src/telemetry/metric-catalogue.ts';
import type { Dashboard } from './dashboard.ts';
import { PROCESS } from './foreign-metrics.ts';
import { graph, type Panel, stat } from './panel.ts';
import { each, rate, rateOfEach, shared, sharedLately, total, totalOfAll } from './promql.ts';
import { oldestOverdueEntry, redisMemory, workersByRole } from './verdicts.ts';
import { eventLoopLag, redisPing } from './worker-panels.ts';

const NAMES = ['turn', 'compaction', 'summarization'] as const;

const VERDICT: readonly Panel[] = [
  workersByRole(5),
  stat({
    title: 'Oldest waiting job',
    description:
      'Age of the oldest waiting job of each queue. Growth means that the role has too few workers, or none.',
    unit: 's',
    width: 6,
    decimals: 1,
    thresholds: [
      { from: 10, color: 'orange' },
      { from: 30, color: 'red' },
    ],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.oldestWaitingJob, { by: ['queue'] }), legend: '{{queue}}' }],
  }),
  oldestOverdueEntry(3),
  redisMemory(3),
  stat({
    title: 'Redis answers',
    description: 'Lowest value of all workers: 0 if Redis does not answer one of them.',
    unit: 'short',
    width: 3,
    thresholds: [{ from: 1, color: 'green' }],
    without: 'no worker answers',
    queries: [{ expr: `min (${each(GAUGES.redisUp)})`, legend: 'answers' }],
  }),
  stat({
    title: 'Records set aside',
    description: 'Unreadable records that were set aside. Repair or drop each with `turnfold quarantine`.',
    unit: 'short',
    width: 4,
    decimals: 0,
    thresholds: [{ from: 1, color: 'red' }],
    without: 'not measured',
    queries: [{ expr: sharedLately(GAUGES.quarantinedRecords), legend: 'set aside' }],
  }),
];

const DEPTHS: readonly Panel[] = NAMES.map((queue) =>
  graph({
    title: `Jobs of ${queue}`,
    description:
      'Jobs by state. waiting and prioritized jobs wait for a worker, active jobs run, delayed and waiting-children jobs wait for other events.',
    unit: 'short',
    width: 8,
    isStacked: true,
    queries: [{ expr: shared(GAUGES.jobs, { by: ['state'], where: { queue: `="${queue}"` } }), legend: '{{state}}' }],
  }),
);

const PRESSURE: readonly Panel[] = [
  graph({
    title: 'Oldest waiting job',
    description: 'Age by queue. A deep queue of young jobs is a burst, one of old jobs a backlog.',
    unit: 's',
    width: 8,
    queries: [{ expr: shared(GAUGES.oldestWaitingJob, { by: ['queue'] }), legend: '{{queue}}' }],
  }),
  graph({
    title: 'Concurrency in use',
    description: 'Active jobs ÷ concurrency of all workers. At 100 % further jobs wait: add workers of that role.',
    unit: 'percentunit',
    width: 8,
    max: 1,
    queries: [useOfConcurrency('turn'), useOfConcurrency('compaction'), useOfConcurrency('summarization')],
  }),
  graph({
    title: 'Overdue entries',
    description:
      'Overdue entries by kind, which sweepers wake. Some are normal after a crash. A steady number means that wakes get lost.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.overdueEntries, { by: ['kind'] }), legend: '{{kind}}' }],
  }),
];

const OLD_CONVERSATIONS: readonly Panel[] = [
  graph({
    title: 'Conversations erased',
    description:
      'Conversations erased because the conversationTtl of their policy passed. Erases by callers are left out.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.conversationsExpired), legend: 'erased' }],
  }),
  graph({
    title: 'Overdue erases',
    description:
      'Time by which the oldest idle conversation has outlived its idle TTL. Growth means that sweeps are too slow or missing.',
    unit: 's',
    width: 8,
    thresholds: [{ from: 3_600, color: 'red' }],
    queries: [{ expr: shared(GAUGES.oldestOverdueErase), legend: 'age' }],
  }),
  graph({
    title: 'Old messages packed',
    description:
      'Bytes of old messages a second that were compressed in Redis, before and after. Without old messages there are none.',
    unit: 'Bps',
    width: 8,
    queries: [{ expr: rate(METRICS.logBytesPacked, { by: ['size'] }), legend: '{{size}}' }],
  }),
];

const REDIS: readonly Panel[] = [
  redisPing(8),
  graph({
    title: 'Redis memory',
    description: 'Memory in use, for a Cluster that of the fullest master. Grows with the kept conversations.',
    unit: 'bytes',
    width: 8,
    queries: [{ expr: shared(GAUGES.redisMemoryBytes), legend: 'used' }],
  }),
  graph({
    title: 'Evicted keys',
    description: 'Keys evicted since Redis started. Each is lost data: maxmemory-policy must be noeviction.',
    unit: 'short',
    width: 8,
    thresholds: [{ from: 1, color: 'red' }],
    queries: [{ expr: shared(GAUGES.redisEvictedKeys), legend: 'evicted' }],
  }),
  graph({
    title: 'Who measures',
    description: 'One worker at a time measures the shared state. Without one for minutes, its panels are empty.',
    unit: 'short',
    width: 8,
    queries: [{ expr: total(GAUGES.isMeasuring), legend: 'workers that measure' }],
  }),
  graph({
    title: 'Records set aside',
    description: 'Records set aside until they are repaired or dropped. The first one fires an alert: docs/runbook.md.',
    unit: 'short',
    width: 8,
    thresholds: [{ from: 1, color: 'red' }],
    queries: [{ expr: shared(GAUGES.quarantinedRecords), legend: 'set aside' }],
  }),
  graph({
    title: 'Records found corrupt',
    description: 'Records by the set that named them (key: a whole key). The log of the worker names shard and record.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.recordsQuarantined, { by: ['set'] }), legend: '{{set}}' }],
  }),
];

const WORKERS: readonly Panel[] = [
  eventLoopLag(6),
  graph({
    title: 'CPU',
    description: 'CPU of each worker. A worker that stays near 1 core is at its limit: add workers.',
    unit: 'cores',
    width: 6,
    thresholds: [{ from: 0.9, color: 'red' }],
    queries: [{ expr: rateOfEach(PROCESS.cpu), legend: '{{job}} {{instance}}' }],
  }),
  graph({
    title: 'Memory',
    description: 'Memory of each worker. A steady rise over hours is a leak, a saw tooth is not.',
    unit: 'bytes',
    width: 6,
    queries: [{ expr: each(PROCESS.residentMemory), legend: '{{job}} {{instance}}' }],
  }),
  graph({
    title: 'Failures around the work',
    description: 'Failures outside of turns: in a sweep, a connection or a calibration. The log has each one.',
    unit: 'events/s',
    width: 6,
    queries: [{ expr: rate(METRICS.workerFailures, { by: ['where'] }), legend: '{{where}}' }],
  }),
];

export const QUEUES: Dashboard = {
  name: 'queues',
  title: 'Queues, workers and Redis',
  description: 'Are there enough workers, and does Redis carry the load?',
  rows: [
    { title: 'Are there enough workers?', panels: VERDICT },
    { title: 'Content of the queues', panels: DEPTHS },
    { title: 'Load of workers and Redis', panels: PRESSURE },
    { title: 'Old conversations', panels: OLD_CONVERSATIONS },
    { title: 'Redis', panels: REDIS },
    { title: 'Workers', panels: WORKERS },
  ],
};

/** The gauge of active jobs has no instance, so the divisor must not be filtered by one. */
function useOfConcurrency(role: (typeof NAMES)[number]) {
  const active = shared(GAUGES.jobs, { where: { queue: `="${role}"`, state: '="active"' } });
  return { expr: `${active} / ${totalOfAll(GAUGES.concurrency, { where: { role: `="${role}"` } })}`, legend: role };
}
