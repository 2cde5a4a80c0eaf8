import { PASS_METRICS, SHADOW_METRICS, SUMMARY_METRICS } from './catalogue/pass-metrics.ts';
import { MODEL_METRICS, TURN_METRICS } from './catalogue/turn-metrics.ts';
import { SHARED_GAUGES, WORKER_GAUGES, WORKER_METRICS } from './catalogue/worker-metrics.ts';

export { HTTP_METRICS } from './catalogue/http-metrics.ts';
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

/** Gauges that are measured whenever the metrics page is read. */
export const GAUGES = { ...SHARED_GAUGES, ...WORKER_GAUGES };
