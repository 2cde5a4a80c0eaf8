import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { printDashboard } from '../../deploy/grafana/source/dashboard.ts';
import { DASHBOARDS } from '../../deploy/grafana/source/dashboards.ts';
import { SHARED_GAUGES } from '../../src/telemetry/metric-catalogue.ts';
import { type DashboardFile, dashboardSchema, listPanels, listQueries } from './dashboard-schema.ts';
import { findUnknownNames, listKnownMetrics } from './known-metrics.ts';
import { readSelectors } from './promql-names.ts';
import { ALERTS } from './rule-files.ts';

const folder = new URL('../../deploy/grafana/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8');
const readDashboard = (file: string): DashboardFile => dashboardSchema.parse(JSON.parse(read(file)));

const names = DASHBOARDS.map(({ name }) => name);
const known = await listKnownMetrics();

/** Texts of panels without a value, where 0 would be false. */
const WITHOUT_ZERO: Readonly<Record<string, string>> = {
  // The gauge reads 0 while nothing waits. No value: no worker measures, and 0 would hide that.
  'Oldest waiting turn': 'not measured',
  'Oldest waiting job': 'not measured',
  'Oldest open pass': 'not measured',
  'Waiting turns': 'not measured',
  'Failed turns kept': 'not measured',
  'Records set aside': 'not measured',
  Overdue: 'not measured',
  // 0 % would be an empty Redis.
  'Redis memory': 'no limit known',
  // 0 would say that Redis does not answer.
  'Redis answers': 'no worker answers',
  // Nothing takes 0 s.
  Duration: 'no turns',
  'Slowest model': 'no requests',
  // 0 % would say that sizes are exact.
  'Sizes off by': 'nothing counted',
};

it('each dashboard has a file, and no other file exists', () => {
  expect(readdirSync(new URL('dashboards/', folder)).toSorted()).toEqual(
    names.map((name) => `${name}.json`).toSorted(),
  );
});

describe.each(names)('%s', (name) => {
  const dashboard = readDashboard(`dashboards/${name}.json`);
  const panels = listPanels(dashboard);

  it('a dashboard file is the output of `node deploy/grafana/build.ts`', () => {
    const source = DASHBOARDS.find((candidate) => candidate.name === name);
    expect(source && printDashboard(source)).toBe(read(`dashboards/${name}.json`));
  });

  it('a dashboard panel without a series shows 0, or a text if 0 would be wrong', () => {
    const texts = panels.map(({ title, fieldConfig }) => [title, fieldConfig.defaults.noValue ?? 'No data'] as const);
    const others = texts.filter(([, text]) => text !== '0');
    expect(others.filter(([title, text]) => WITHOUT_ZERO[title] !== text)).toEqual([]);
  });

  it('the panels of a dashboard have unique ids and do not overlap', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)}/${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  it('a dashboard opens with a row whose title is a question and whose single numbers fill the width', () => {
    const [row, ...others] = dashboard.panels;
    const end = others.findIndex(({ type }) => type !== 'stat');
    const stats = others.slice(0, end);
    expect(row).toMatchObject({ type: 'row', title: expect.stringMatching(/\?$/) });
    expect(others[end]?.type).toBe('row');
    expect(stats.reduce((sum, { gridPos }) => sum + gridPos.w, 0)).toBe(24);
  });

  it('each panel of a dashboard has a description, a unit and a legend', () => {
    for (const { title, description, fieldConfig, targets, type, options } of panels) {
      expect(description, title).toMatch(/^.{12,}\.$/);
      expect(type === 'heatmap' ? options['yAxis'] : fieldConfig.defaults, title).toHaveProperty('unit');
      for (const { legendFormat } of targets) expect(legendFormat, title).not.toBe('');
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
    }
  });

  it('a dashboard queries the chosen data source, by default the provisioned one', () => {
    const chosen = dashboard.templating.list.find((variable) => variable.name === 'datasource');
    const provisioned = provisionedSchema.parse(parse(read('provisioning/datasources/prometheus.yml')));
    expect(chosen).toMatchObject({ type: 'datasource', current: { value: provisioned.datasources[0].uid } });
    const asked = panels.flatMap(({ datasource, targets }) => [datasource, ...targets.map((one) => one.datasource)]);
    for (const { uid } of asked) expect(uid).toBe('$datasource');
  });

  it('a dashboard uses only variables that it defines', () => {
    const own = dashboard.templating.list.map((variable) => `$${variable.name}`);
    for (const query of listQueries(dashboard)) {
      const used = query.match(/\$\w+/g) ?? [];
      expect([...own, '$__rate_interval', '$__range'], query).toEqual(expect.arrayContaining(used));
    }
  });

  it('a dashboard names only metrics and labels of the catalogue', () => {
    const queries = listQueries(dashboard);
    expect(queries.length).toBeGreaterThan(panels.length);
    expect(queries.flatMap((query) => findUnknownNames(query, known))).toEqual([]);
  });

  it('the legends of a dashboard use labels that the query keeps', () => {
    for (const { title, targets } of panels) {
      for (const { expr, legendFormat } of targets) {
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
        for (const { metric, grouped, within } of readSelectors(expr)) {
          const isAggregated = within.some((around) => /^(sum|max|min|count|avg)$/.test(around));
          const kept = isAggregated ? grouped : ['job', 'instance', ...(known.get(metric)?.labels ?? [])];
          expect(kept, `${title}: ${expr}`).toEqual(expect.arrayContaining(named));
        }
      }
    }
  });

  it('a dashboard queries the maximum of gauges that several workers may show, and the rate of counters', () => {
    const shared = new Set<string>(Object.values(SHARED_GAUGES).map((gauge) => gauge.name));
    for (const query of listQueries(dashboard)) {
      for (const { metric, within } of readSelectors(query)) {
        if (shared.has(metric))
          expect(
            within.find((around) => around !== 'max_over_time'),
            query,
          ).toBe('max');
        const isCounter = known.get(metric)?.type === 'counter';
        expect(within[0] === 'rate' || within[0] === 'increase', query).toBe(isCounter);
      }
    }
  });
});

it('the data source has the scrape interval of Prometheus', () => {
  const { datasources } = provisionedSchema.parse(parse(read('provisioning/datasources/prometheus.yml')));
  const { global } = scrapeSchema.parse(parse(read('../prometheus/prometheus.yml')));
  expect(datasources[0].jsonData.timeInterval).toBe(global.scrape_interval);
});

it('the dashboards count lost leases as the alert does, or show why leases were lost', () => {
  const alert = ALERTS.find((one) => one.alert === 'TurnfoldLeasesLost');
  const [, counted] = /turnfold_leases_lost_total\{(why=~"[^"]+")\}/.exec(alert?.expr ?? '') ?? [];
  if (counted === undefined) throw new Error(`leases lost: ${alert?.expr}`);
  const queries = names.flatMap((name) => listQueries(readDashboard(`dashboards/${name}.json`)));
  const lost = queries.filter((query) => query.includes('turnfold_leases_lost_total'));
  expect(lost.length).toBeGreaterThan(0);
  for (const query of lost) expect(query.includes(counted) || query.includes('by (why)'), query).toBe(true);
});

it('the overview dashboard finds every alert by its name', () => {
  expect(ALERTS.length).toBeGreaterThan(0);
  for (const { alert } of ALERTS) expect(alert).toMatch(/^Turnfold.+$/);
  expect(read('dashboards/overview.json')).toContain(String.raw`alertname=~\"Turnfold.+\"`);
});

describe('findUnknownNames', () => {
  it.each([
    ['a metric', 'sum (rate(turnfold_turns[5m]))', 'turnfold_turns'],
    ['a label that is matched', 'sum (rate(turnfold_turns_total{result="x"}[5m]))', 'turnfold_turns_total: result'],
    ['a label that is grouped by', 'sum by (model) (rate(turnfold_turns_total[5m]))', 'turnfold_turns_total: model'],
    ['a bucket of a counter', 'sum by (le) (rate(turnfold_turns_total_bucket[5m]))', 'turnfold_turns_total_bucket'],
    ['a histogram without its suffix', 'max (turnfold_turn_wait_seconds)', 'turnfold_turn_wait_seconds'],
    ['the second of two', 'max (turnfold_waiting_turns) / (sum (turnfold_worker_slots) > 0)', 'turnfold_worker_slots'],
  ])('findUnknownNames finds %s', (_what, query, unknown) => {
    expect(findUnknownNames(query, known)).toEqual([`${unknown} in ${query}`]);
  });
});

const scrapeSchema = z.object({ global: z.object({ scrape_interval: z.string() }) });
const provisionedSchema = z.object({
  datasources: z.tuple([
    z.object({ uid: z.string(), type: z.literal('prometheus'), jsonData: z.object({ timeInterval: z.string() }) }),
  ]),
});
