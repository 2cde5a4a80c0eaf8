import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { findPrometheusProgram } from '../deploy/prometheus.ts';
import { samples } from './sample-events.ts';

const promtool = await findPrometheusProgram('promtool');

/** Metrics that prom-client and BullMQ name. */
const FOREIGN = /^(turnfold_(nodejs|process)_\w+|bullmq_job_count) /;

test.runIf(promtool !== undefined)(
  'promtool accepts the metrics page (needs promtool on PATH, or apt to download promtool)',
  async () => {
    const metrics = createMetrics({ concurrency: { turn: 1 } });
    metrics.measure({
      countJobs: async () => [{ queue: 'turn', state: 'waiting-children', count: 1 }],
      measureWaits: async () => new Map([['turn', 1]]),
      measureShards: async () => ({
        overdue: { turn: 1, pass: 0, scheduled: 0, idle: 0 },
        oldestOverdueMs: 1,
        openPasses: 1,
        oldestOpenPassMs: 1,
        failedTurns: 1,
        oldestIdleMs: 1,
        quarantined: 1,
      }),
      measureServers: async () => ({ usedBytes: 1, usedRatio: 0.5, evictedKeys: 0 }),
      readCalibrations: async () => new Map([['m', 1]]),
      isMeasuring: async () => true,
      ping: async () => undefined,
    });
    for (const event of Object.values(samples)) metrics.listener(event);
    const { body } = await metrics.render();
    const { stderr } = spawnSync(promtool ?? '', ['check', 'metrics'], { input: body, encoding: 'utf8' });
    expect(stderr.split('\n').filter((line) => line !== '' && !FOREIGN.test(line))).toEqual([]);
  },
);
