import type { MetricSpec } from '../../../src/telemetry/metric-catalogue.ts';

/** Metrics of each worker's Node process, named by prom-client. */
export const PROCESS = {
  eventLoopLag: {
    type: 'gauge',
    // Not its percentiles: a block is one sample, whatever its length, and each second without has a hundred.
    name: 'turnfold_nodejs_eventloop_lag_max_seconds',
    help: 'Longest delay of timers since the last scrape.',
    labels: [],
  },
  residentMemory: {
    type: 'gauge',
    name: 'turnfold_process_resident_memory_bytes',
    help: 'Memory of the process.',
    labels: [],
  },
  cpu: { type: 'counter', name: 'turnfold_process_cpu_seconds_total', help: 'Time on CPUs.', labels: [] },
  start: {
    type: 'gauge',
    name: 'turnfold_process_start_time_seconds',
    help: 'Start of the process in seconds since epoch, present from the first scrape on.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

/** Metrics of Prometheus itself. */
export const PROMETHEUS = {
  alerts: {
    type: 'gauge',
    name: 'ALERTS',
    help: 'Pending and firing alerts.',
    labels: ['alertname', 'alertstate'],
  },
} as const satisfies Record<string, MetricSpec>;
