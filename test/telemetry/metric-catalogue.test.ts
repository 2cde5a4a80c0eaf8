import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GAUGES, METRICS, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';

const specs: readonly MetricSpec[] = [...Object.values<MetricSpec>(METRICS), ...Object.values<MetricSpec>(GAUGES)];

test('no two metrics have the same name', () => {
  expect(new Set(specs.map(({ name }) => name)).size).toBe(specs.length);
});

test('each series that exists from the start has the labels of its metric, and exists once', () => {
  for (const { name, labels, start = [] } of specs) {
    for (const set of start) expect(Object.keys(set).toSorted(), name).toEqual([...labels].toSorted());
    expect(new Set(start.map((set) => JSON.stringify(set))).size, name).toBe(start.length);
  }
});

test('the failure counter starts at 0 for every value of its label `where` that the source code names', () => {
  const root = new URL('../../src/', import.meta.url);
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const named = sources.flatMap((name) =>
    [...readFileSync(new URL(name, root), 'utf8').matchAll(/(?:where: |onError\(error, )'([^']+)'/g)].map(
      ([, at]) => at,
    ),
  );
  expect(named.length).toBeGreaterThan(8);
  const started = METRICS.workerFailures.start.map(({ where }) => where);
  expect(named.filter((where) => !started.includes(where))).toEqual([]);
});

test('the metrics page of a fresh worker has fewer than 1,000 series', () => {
  const series = specs.flatMap(({ buckets, start = [] }) => start.map(() => (buckets?.length ?? -2) + 3));
  expect(series.reduce((sum, count) => sum + count, 0)).toBeLessThan(1_000);
});

test.each(specs.map((spec) => [spec.name, spec] as const))(
  'the metric %s follows the conventions of Prometheus and has no id among its labels',
  (name, { type, help, labels, buckets = [] }) => {
    expect(name).toMatch(/^(turnfold_[a-z]+(_[a-z]+)*|bullmq_job_count)$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|counter|gauge|histogram|summary)(_|$)/);
    expect(name).not.toMatch(/^turnfold_.*_(count|sum|bucket)$/);
    expect(help).toMatch(/^[A-Z].{15,}\.$/);
    for (const label of labels) {
      expect(label).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(label).not.toMatch(/(^|_)(id|ids|tenant|conversation|turn|pass|call|job|agent|tool|name|worker|le)(_|$)/);
    }
    expect(buckets.length > 0).toBe(type === 'histogram');
    expect(buckets).toEqual([...new Set(buckets)].toSorted((a, b) => a - b));
  },
);
