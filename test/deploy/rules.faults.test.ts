import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { SHARED_GAUGES } from '../../src/telemetry/metric-catalogue.ts';
import { findUnknownNames, type KnownSeries, listKnownMetrics } from './known-metrics.ts';
import { findPrometheusProgram } from './prometheus.ts';
import { readSelectors } from './promql-names.ts';
import { ALERTS, EXPECTATIONS, pathOf, RECORDINGS, RULE_FILES, ruleFilesOf, TEST_FILES } from './rule-files.ts';

const run = promisify(execFile);

const promtool = await findPrometheusProgram('promtool');
/** Named where a test is skipped. */
const NEEDS = '(needs promtool on PATH, or apt to download it)';

const shared = new Set<string>(Object.values(SHARED_GAUGES).map(({ name }) => name));
/** Labels that a scrape adds, and Prometheus' own. */
const up: KnownSeries = { type: 'gauge', labels: [] };
const catalogue = new Map([...(await listKnownMetrics()), ['up', up] as const]);
const recorded = new Map(RECORDINGS.map(({ record, expr }) => [record, recordedSeries(expr)]));
const known = new Map([...catalogue, ...recorded]);
const all = [...RECORDINGS, ...ALERTS];

/** A recording has the labels that its aggregation keeps. */
function recordedSeries(expr: string): KnownSeries {
  const labels = readSelectors(expr).flatMap(({ grouped }) => grouped);
  return { type: 'gauge', labels: labels.filter((label) => label !== 'le') };
}

describe('rules', () => {
  test.runIf(promtool !== undefined)(`promtool accepts the rules ${NEEDS}`, async () => {
    const { stdout } = await run(promtool ?? '', ['check', 'rules', ...RULE_FILES.map(pathOf)]);
    expect(stdout.match(/SUCCESS/g)).toHaveLength(RULE_FILES.length);
  });

  test.runIf(promtool !== undefined)(`alerts fire when they should, and not before ${NEEDS}`, async () => {
    const { stdout } = await run(promtool ?? '', [
      'test',
      'rules',
      ...TEST_FILES.map((name) => pathOf(`tests/${name}`)),
    ]);
    expect(stdout.match(/SUCCESS/g)).toHaveLength(TEST_FILES.length);
  });

  test('the rule files have recordings and alerts', () => {
    expect(RECORDINGS.length).toBeGreaterThan(10);
    expect(ALERTS.length).toBeGreaterThan(20);
  });

  test('recording rules and alerts have unique names, and each name follows the convention for its kind', () => {
    const names = all.map((rule) => ('record' in rule ? rule.record : rule.alert));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    for (const { alert } of ALERTS) expect(alert).toMatch(/^Turnfold[A-Z][A-Za-z]+$/);
    for (const { record } of RECORDINGS) expect(record).toMatch(/^job(_[a-z]+)*:[a-z_]+:[a-z0-9_]+$/);
  });

  test.each(all.map((rule) => ['record' in rule ? rule.record : rule.alert, rule.expr] as const))(
    'the rule %s names only existing metrics and labels',
    (_name, expr) => {
      expect(readSelectors(expr).length).toBeGreaterThan(0);
      expect(findUnknownNames(expr, known)).toEqual([]);
    },
  );

  test('alert rules query the maximum over a minute of gauges that several workers may show, and the rate of counters', () => {
    for (const { expr } of all) {
      for (const { metric, within } of readSelectors(expr)) {
        if (shared.has(metric)) expect(within.slice(0, 2), expr).toEqual(['max_over_time', 'max']);
        const isCounter = known.get(metric)?.type === 'counter';
        expect(within[0] === 'rate' || within[0] === 'increase', expr).toBe(isCounter);
      }
    }
  });
});

describe('alerts', () => {
  test.each(ALERTS.map(({ alert }) => alert))(
    'the alert %s has a test in which it fires and one in which it does not',
    (alert) => {
      const fires = EXPECTATIONS.filter((expected) => expected.alert === alert).map((expected) => expected.fires);
      expect(new Set(fires)).toEqual(new Set([true, false]));
    },
  );

  test('the rule tests name only existing alerts', () => {
    const names = new Set(ALERTS.map(({ alert }) => alert));
    expect(EXPECTATIONS.filter(({ alert }) => !names.has(alert))).toEqual([]);
  });

  test('the promtool tests cover every rule file of Prometheus, and no other file', () => {
    const tested = new Set(TEST_FILES.flatMap(ruleFilesOf).map((path) => path.replace('../', '')));
    expect([...tested].toSorted()).toEqual(RULE_FILES.toSorted());
  });

  test('each alert describes its problem in a sentence', () => {
    for (const { alert, annotations } of ALERTS) expect(annotations.summary, alert).toMatch(/^[A-Z].{15,}\.$/);
  });
});
