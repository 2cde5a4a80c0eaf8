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
      'How long the next job of each queue has waited. Growing in one: its role has too few workers, or none.',
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
    description: 'The least of what the workers say: 0 where one of them has no answer from Redis.',
    unit: 'short',
    width: 3,
    thresholds: [{ from: 1, color: 'green' }],
    without: 'no worker answers',
    queries: [{ expr: `min (${each(GAUGES.redisUp)})`, legend: 'answers' }],
  }),
  stat({
    title: 'Records set aside',
    description: 'Records that cannot be read. Each one needs somebody to repair or drop it: `turnfold quarantine`.',
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
      'By state. waiting and prioritized wait for a worker; active is at work; delayed and waiting-children wait for something else.',
    unit: 'short',
    width: 8,
    isStacked: true,
    queries: [{ expr: shared(GAUGES.jobs, { by: ['state'], where: { queue: `="${queue}"` } }), legend: '{{state}}' }],
  }),
);

const PRESSURE: readonly Panel[] = [
  graph({
    title: 'Oldest waiting job',
    description: 'By queue. Depth alone says little: a deep queue that is young is a burst, an old one a backlog.',
    unit: 's',
    width: 8,
    queries: [{ expr: shared(GAUGES.oldestWaitingJob, { by: ['queue'] }), legend: '{{queue}}' }],
  }),
  graph({
    title: 'Concurrency in use',
    description:
      'Jobs at work ÷ those that all workers take at a time. At 100 % the next one waits: add workers of that role.',
    unit: 'percentunit',
    width: 8,
    max: 1,
    queries: [useOfConcurrency('turn'), useOfConcurrency('compaction'), useOfConcurrency('summarization')],
  }),
  graph({
    title: 'Overdue entries',
    description:
      'Past their time, by kind. The sweepers find them: some after a crash, always some where wakes get lost.',
    unit: 'short',
    width: 8,
    queries: [{ expr: shared(GAUGES.overdueEntries, { by: ['kind'] }), legend: '{{kind}}' }],
  }),
];

const ERASES: readonly Panel[] = [
  graph({
    title: 'Conversations erased',
    description: 'Because they had rested for the conversationTtl of their policy; those that callers erase left out.',
    unit: 'events/s',
    width: 12,
    queries: [{ expr: rate(METRICS.conversationsExpired), legend: 'erased' }],
  }),
  graph({
    title: 'Overdue erases',
    description:
      'For how long the oldest should have been erased. Growing: more end than sweeps take, or no sweep gets there.',
    unit: 's',
    width: 12,
    thresholds: [{ from: 3_600, color: 'red' }],
    queries: [{ expr: shared(GAUGES.oldestOverdueErase), legend: 'age' }],
  }),
];

const REDIS: readonly Panel[] = [
  redisPing(8),
  graph({
    title: 'Redis memory',
    description: 'What is used; of a Cluster the fullest master. Grows with the conversations that are kept.',
    unit: 'bytes',
    width: 8,
    queries: [{ expr: shared(GAUGES.redisMemoryBytes), legend: 'used' }],
  }),
  graph({
    title: 'Evicted keys',
    description: 'Since Redis started. Any is lost data: its maxmemory-policy has to be noeviction.',
    unit: 'short',
    width: 8,
    thresholds: [{ from: 1, color: 'red' }],
    queries: [{ expr: shared(GAUGES.redisEvictedKeys), legend: 'evicted' }],
  }),
  graph({
    title: 'Who measures',
    description: 'One worker at a time measures what all share. None for minutes: those panels stand empty.',
    unit: 'short',
    width: 8,
    queries: [{ expr: total(GAUGES.isMeasuring), legend: 'workers that measure' }],
  }),
  graph({
    title: 'Records set aside',
    description: 'Until somebody repairs or drops them. An alert fires at the first one: docs/runbook.md.',
    unit: 'short',
    width: 8,
    thresholds: [{ from: 1, color: 'red' }],
    queries: [{ expr: shared(GAUGES.quarantinedRecords), legend: 'set aside' }],
  }),
  graph({
    title: 'Records found corrupt',
    description: 'By the set that named each record; key: a whole key. The log of the worker names shard and record.',
    unit: 'events/s',
    width: 8,
    queries: [{ expr: rate(METRICS.recordsQuarantined, { by: ['set'] }), legend: '{{set}}' }],
  }),
];

const WORKERS: readonly Panel[] = [
  eventLoopLag(6),
  graph({
    title: 'CPU',
    description:
      'Of each worker. One that stays near 1 core takes as many jobs at a time as it can serve: add workers.',
    unit: 'cores',
    width: 6,
    thresholds: [{ from: 0.9, color: 'red' }],
    queries: [{ expr: rateOfEach(PROCESS.cpu), legend: '{{job}} {{instance}}' }],
  }),
  graph({
    title: 'Memory',
    description: 'Of each worker. A steady rise over hours is a leak; a saw tooth is not.',
    unit: 'bytes',
    width: 6,
    queries: [{ expr: each(PROCESS.residentMemory), legend: '{{job}} {{instance}}' }],
  }),
  graph({
    title: 'Failures around the work',
    description: 'Failures that belong to no turn: a sweep, a connection, a calibration. The log says each one.',
    unit: 'events/s',
    width: 6,
    queries: [{ expr: rate(METRICS.workerFailures, { by: ['where'] }), legend: '{{where}}' }],
  }),
];

export const QUEUES: Dashboard = {
  name: 'queues',
  title: 'Queues, workers and Redis',
  description: 'Is there somebody for the work, and does Redis carry it?',
  rows: [
    { title: 'Is there somebody for the work?', panels: VERDICT },
    { title: 'What lies in the queues', panels: DEPTHS },
    { title: 'Whether that is too much', panels: PRESSURE },
    { title: 'Conversations with a time to live', panels: ERASES },
    { title: 'Redis', panels: REDIS },
    { title: 'Workers', panels: WORKERS },
  ],
};

/** Who holds the jobs that are at work is not in the gauge, so that no choice of an instance may bind what they are divided by. */
function useOfConcurrency(role: (typeof NAMES)[number]) {
  const active = shared(GAUGES.jobs, { where: { queue: `="${role}"`, state: '="active"' } });
  return { expr: `${active} / ${totalOfAll(GAUGES.concurrency, { where: { role: `="${role}"` } })}`, legend: role };
}
