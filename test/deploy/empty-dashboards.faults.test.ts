import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { DASHBOARDS } from '../../deploy/grafana/source/dashboards.ts';
import { dashboardSchema, listPanels } from './dashboard-schema.ts';
import { findPrometheusProgram, startPrometheus } from './prometheus.ts';

const files = DASHBOARDS.map(({ name }) => new URL(`../../deploy/grafana/dashboards/${name}.json`, import.meta.url));
const stats = files
  .flatMap((file) => listPanels(dashboardSchema.parse(JSON.parse(readFileSync(file, 'utf8')))))
  .filter(({ type }) => type === 'stat');

test('dashboard queries return 0 for each count and share before anything has happened', async ({ skip }) => {
  const program = await findPrometheusProgram('prometheus');
  if (program === undefined) return skip('no prometheus on PATH, and no apt that could download it');
  const prometheus = await startPrometheus({ program, targets: [] });
  onTestFinished(() => prometheus.stop());
  const counted = stats.filter(({ title, fieldConfig }) => {
    return fieldConfig.defaults.noValue === '0' && title !== 'Workers by role'; // it has a value for each role
  });
  expect(counted.length).toBeGreaterThan(10);
  for (const { title, targets } of counted) {
    for (const { expr } of targets) {
      const query = expr.replaceAll('$__range', '1h').replaceAll(/\$(job|instance)/g, '.+');
      const samples = await prometheus.query(query);
      expect(
        samples.map(({ metric, value: [, value] }) => [metric, value]),
        title,
      ).toEqual([[{}, '0']]);
    }
  }
});
