import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { samples } from './sample-events.ts';

const promtool = 'promtool';
const isInstalled = spawnSync(promtool, ['--version']).error === undefined;

/** Named by prom-client and by BullMQ, not here. */
const FOREIGN = /^(turnfold_(nodejs|process)_\w+|bullmq_job_count) /;

test.runIf(isInstalled)('promtool finds no fault (skipped where it is not on PATH)', async () => {
  const metrics = createMetrics({
    measures: {
      countJobs: async () => [{ queue: 'turn', state: 'waiting-children', count: 1 }],
      measureOverdue: async () => ({ count: 1, oldestMs: 1 }),
      measureWaiting: async () => ({ turns: 1, oldestMs: 1 }),
    },
  });
  for (const event of Object.values(samples)) metrics.listener(event);
  const { body } = await metrics.render();
  const { stderr } = spawnSync(promtool, ['check', 'metrics'], { input: body, encoding: 'utf8' });
  expect(stderr.split('\n').filter((line) => line !== '' && !FOREIGN.test(line))).toEqual([]);
});
