import { readFileSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { DASHBOARDS } from '../../deploy/grafana/source/dashboards.ts';
import type { Workers } from '../../src/host/start-workers.ts';
import { eventually, type Fixture, openFixture } from '../runtime/fixture.ts';
import { dashboardSchema, listPanels, listVariablesAndAnnotations } from './dashboard-schema.ts';
import { findPrometheusProgram, type Prometheus, type Series, startPrometheus } from './prometheus.ts';
import { pathOf, RECORDINGS, RULE_FILES } from './rule-files.ts';
import { openTraffic } from './traffic.ts';

/** Longest time of the traffic. It ends earlier, once every kind of it shows: on a busy machine that takes longer. */
const TRAFFIC_MS = 150_000;

const files = DASHBOARDS.map(({ name }) => new URL(`../../deploy/grafana/dashboards/${name}.json`, import.meta.url));
const dashboards = files.map((file) => dashboardSchema.parse(JSON.parse(readFileSync(file, 'utf8'))));

/** Counters of failures that do not happen in this run. */
const MAY_STAY_AT_0 = [
  'Leases lost and turns reclaimed',
  'Turns reclaimed',
  'Leases of turns lost',
  'Overdue',
  'Failed passes',
  'Passes not requested and backoffs',
  'Evicted keys',
  'Records set aside',
  'Records found corrupt',
  'Requests over the window: over the window',
  'oldest_overdue_',
  'agent_missing_',
];

/** Gauges of the moment: a summarization job may be added and end between two scrapes. */
const MAY_BE_MISSED = ['Concurrency in use: summarization', 'Jobs of summarization'];

interface Asked {
  readonly where: string;
  readonly query: string;
  readonly legend: string;
}

const panelQueries: readonly Asked[] = dashboards.flatMap((dashboard) =>
  listPanels(dashboard).flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `${dashboard.title}, ${title}: ${legendFormat}`,
      query: expr,
      legend: legendFormat,
    })),
  ),
);

const otherQueries: readonly Asked[] = dashboards.flatMap((dashboard) =>
  listVariablesAndAnnotations(dashboard).map((query) => ({ where: `${dashboard.title}: ${query}`, query, legend: '' })),
);

const recordings: readonly Asked[] = RECORDINGS.map(({ record }) => ({ where: record, query: record, legend: '' }));

let fixture: Fixture | undefined;
let workers: readonly Workers[] = [];
let prometheus: Prometheus;
let startedAt: number;

afterAll(async () => {
  await prometheus?.stop();
  await Promise.all(workers.map((one) => one.close()));
  await fixture?.close();
});

/** Scraped from before the first turn, since no rate sees what came before it, until the last one has been counted. */
async function scrapeTraffic(program: string): Promise<void> {
  fixture = await openFixture();
  const traffic = await openTraffic(fixture);
  workers = traffic.workers;
  const targets = workers.map(({ metricsUrl = '' }) => new URL(metricsUrl).host);
  prometheus = await startPrometheus({ program, targets, ruleFiles: RULE_FILES.map(pathOf) });
  startedAt = Date.now();
  await untilLast('sum(up{job="turnfold"})', (value) => expect(value).toBe(targets.length));
  await traffic.queueUp();
  await untilLast('max(turnfold_waiting_turns)', (value) => expect(value).toBeGreaterThan(0));
  const shown = new AbortController();
  const settled = traffic.drive(AbortSignal.any([shown.signal, AbortSignal.timeout(TRAFFIC_MS)]));
  await eventually(
    async () => without(await askAll(), hasMoved).filter((where) => !isExcused(where)),
    (still) => expect(still).toEqual([]),
    TRAFFIC_MS,
  ).finally(() => shown.abort());
  const count = await settled;
  await untilLast('sum(turnfold_turns_total)', (value) => expect(value).toBe(count));
}

interface Answered extends Asked {
  readonly series: readonly Series[];
}

async function askAll(): Promise<Answered[]> {
  return await Promise.all(
    [...panelQueries, ...otherQueries, ...recordings].map(async (asked) => ({
      ...asked,
      series: await ask(asked.query),
    })),
  );
}

function without(answers: readonly Answered[], has: (series: Series) => boolean): string[] {
  return answers.filter(({ series }) => !series.some(has)).map(({ where }) => where);
}

/** Returns true for a query that may show only 0, because its events do not happen or end between two scrapes. */
function isExcused(where: string): boolean {
  return [...MAY_STAY_AT_0, ...MAY_BE_MISSED].some((title) => where.includes(title));
}

async function untilLast(query: string, check: (value: number) => void): Promise<void> {
  await eventually(
    () => ask(query),
    ([series]) => check(Number(series?.values.at(-1)?.[1])),
  );
}

/** As Grafana would, with all workers chosen, over all that was scraped. */
function ask(query: string): Promise<Series[]> {
  const complete = query
    .replaceAll('$__rate_interval', '15s')
    .replaceAll('$__range', '1m')
    .replaceAll(/\$(job|instance)/g, '.+');
  return prometheus.queryRange(complete, startedAt);
}

function hasValue({ values }: Series): boolean {
  return values.some(([, value]) => Number.isFinite(Number(value)));
}

function hasMoved({ values }: Series): boolean {
  return values.some(([, value]) => Number(value) > 0);
}

it('every dashboard query and recording rule has a result after traffic of every kind', async ({ skip }) => {
  const program = await findPrometheusProgram('prometheus');
  if (program === undefined) return skip('no prometheus on PATH, and no apt that could download it');
  await scrapeTraffic(program);
  const answers = await askAll();
  expect(without(answers, hasValue)).toEqual([]);
  expect(without(answers, hasMoved).filter((where) => !isExcused(where))).toEqual([]);
  for (const { where, legend, series } of answers) {
    const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    for (const { metric } of series) {
      for (const label of labels) expect(metric[label], where).toBeDefined();
    }
  }
}, 400_000);
