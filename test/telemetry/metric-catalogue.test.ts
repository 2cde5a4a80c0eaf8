import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GAUGES, METRICS, type MetricSpec } from '../../src/telemetry/metric-catalogue.ts';

const specs: readonly MetricSpec[] = [...Object.values<MetricSpec>(METRICS), ...Object.values<MetricSpec>(GAUGES)];

test('every metric name is unique', () => {
  expect(new Set(specs.map(({ name }) => name)).size).toBe(specs.length);
});

test('series that exist from the start have the labels of their metric, once', () => {
  for (const { name, labels, start = [] } of specs) {
    for (const set of start) expect(Object.keys(set).toSorted(), name).toEqual([...labels].toSorted());
    expect(new Set(start.map((set) => JSON.stringify(set))).size, name).toBe(start.length);
  }
});

test('failures count from 0 at every place that the program names', () => {
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

test('a fresh page stays small', () => {
  const series = specs.flatMap(({ buckets, start = [] }) => start.map(() => (buckets?.length ?? -2) + 3));
  expect(series.reduce((sum, count) => sum + count, 0)).toBeLessThan(1_000);
});

describe.each(specs.map((spec) => [spec.name, spec] as const))('%s', (name, { type, help, labels, buckets }) => {
  test('follows the conventions of Prometheus', () => {
    expect(name).toMatch(/^(turnfold_[a-z]+(_[a-z]+)*|bullmq_job_count)$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|counter|gauge|histogram|summary)(_|$)/);
    expect(name).not.toMatch(/^turnfold_.*_(count|sum|bucket)$/);
  });

  test('has a help text', () => {
    expect(help).toMatch(/^[A-Z].{15,}\.$/);
  });

  test('has no label with an id', () => {
    for (const label of labels) {
      expect(label).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(label).not.toMatch(/(^|_)(id|ids|tenant|conversation|turn|pass|call|job|agent|tool|name|worker|le)(_|$)/);
    }
  });

  test('has ascending buckets if it is a histogram', () => {
    expect(buckets !== undefined).toBe(type === 'histogram');
    expect(buckets ?? []).toEqual([...new Set(buckets)].toSorted((a, b) => a - b));
  });
});
