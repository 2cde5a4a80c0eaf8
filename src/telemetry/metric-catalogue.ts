import { counter, gauge, histogram } from './catalogue/metric-spec.ts';
import { PASS_METRICS, SHADOW_METRICS, SUMMARY_METRICS } from './catalogue/pass-metrics.ts';
import { MODEL_METRICS, TURN_METRICS } from './catalogue/turn-metrics.ts';
import { SHARED_GAUGES, WORKER_GAUGES, WORKER_METRICS } from './catalogue/worker-metrics.ts';

export type { LabelSet, MetricSpec } from './catalogue/metric-spec.ts';
export { SHARED_GAUGES, WORKER_GAUGES };

/** Metrics that worker events update. */
export const METRICS = {
  ...TURN_METRICS,
  ...MODEL_METRICS,
  ...PASS_METRICS,
  ...SUMMARY_METRICS,
  ...SHADOW_METRICS,
  ...WORKER_METRICS,
};

export const GAUGES = { ...SHARED_GAUGES, ...WORKER_GAUGES };

const ANSWER_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

export const HTTP_METRICS = {
  requests: counter(
    'turnfold_http_requests_total',
    'Answered requests of `turnfold serve`, by operation of the OpenAPI document and by status. none: no route matched.',
    { operation: [], status: [] },
  ),
  requestSeconds: histogram(
    'turnfold_http_request_duration_seconds',
    'Time from a request to the start of its answer, by operation.',
    ANSWER_SECONDS,
    { operation: [] },
  ),
  readers: gauge('turnfold_http_readers', 'Streams and waiting requests at this moment.'),
};
