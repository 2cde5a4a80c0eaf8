import type { MetricSpec } from '../../../src/telemetry/metric-catalogue.ts';

type LabelOf<Spec extends MetricSpec> = Spec['labels'][number];

/** With its operator: `="failed"`. */
type Matcher = `${'=' | '!=' | '=~' | '!~'}"${string}"`;

/** Which series of a metric, and by what they are kept apart. Labels that the metric lacks do not compile. */
export interface Selection<Spec extends MetricSpec> {
  readonly by?: readonly (LabelOf<Spec> | 'job' | 'instance')[];
  readonly where?: Readonly<Partial<Record<LabelOf<Spec>, Matcher>>>;
  /** Window of rates (`$__rate_interval`: four scrapes, or one step of the graph). */
  readonly window?: '$__rate_interval' | '$__range' | '5m' | '15m' | '30m';
}

/** Choice of the two variables at the top of each dashboard. */
const CHOSEN_JOBS = ['job=~"$job"'];
const CHOSEN_WORKERS = [...CHOSEN_JOBS, 'instance=~"$instance"'];

/** How much of a counter comes in a second, over all chosen workers. */
export function rate<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return sum(selection, `rate(${ranged(spec.name, selection)})`);
}

/** How much of a counter came within the window. */
export function increase<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return sum(selection, `increase(${ranged(spec.name, selection)})`);
}

/** How many observations of a histogram come in a second. */
function rateOfCount<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return sum(selection, `rate(${ranged(`${spec.name}_count`, selection)})`);
}

/** How much a histogram's observations add up to in a second. */
export function rateOfSum<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return sum(selection, `rate(${ranged(`${spec.name}_sum`, selection)})`);
}

/** How much a histogram's observations added up to within the window. */
export function increaseOfSum<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return sum(selection, `increase(${ranged(`${spec.name}_sum`, selection)})`);
}

/** The value below which the share `q` of a histogram's observations lies. */
export function quantile<const Spec extends MetricSpec>(
  q: number,
  spec: Spec,
  { by = [], ...selection }: Selection<Spec> = {},
): string {
  const rates = `rate(${ranged(`${spec.name}_bucket`, selection)})`;
  return `histogram_quantile(${q}, sum by (${['le', ...by].join(', ')}) (${rates}))`;
}

export function mean<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return ratio(rateOfSum(spec, selection), rateOfCount(spec, selection));
}

/** A histogram's buckets, for a heatmap. */
export function buckets<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return `sum by (le) (increase(${ranged(`${spec.name}_bucket`, selection)}))`;
}

/** 0 for a missing value, e.g. of a counter before its first event. The query must have no labels. */
export function orZero(query: string): string {
  return `${query} or vector(0)`;
}

/** Part of a whole, 0 without events. A missing part counts as 0. Queries must have no labels. */
export function share(part: string, whole: string): string {
  return orZero(`(${orZero(part)}) / (${whole} > 0)`);
}

/** A quantile of waits, 0 without waits: a histogram without observations has no quantile (NaN). */
export function waitOrZero(query: string): string {
  return orZero(`${query} >= 0`);
}

/** Nothing where there was nothing to divide by: 0 of 0 is no answer. */
export function ratio(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`;
}

/**
 * A gauge of shared state. One worker at a time shows it, so the choice of instances does not filter the gauge.
 * During a handover two workers may show it, so the max is taken.
 */
export function shared<const Spec extends MetricSpec>(spec: Spec, { by = [], where }: Selection<Spec> = {}): string {
  return `max${grouped(by)} (${selected(spec.name, where, CHOSEN_JOBS)})`;
}

/** The same, at its highest in the last minute: in which, while it passes on, there may be no value for some seconds. */
export function sharedLately<const Spec extends MetricSpec>(
  spec: Spec,
  { by = [], where }: Selection<Spec> = {},
): string {
  return `max${grouped(by)} (max_over_time(${selected(spec.name, where, CHOSEN_JOBS)}[1m]))`;
}

/** A gauge of each worker, added up over those that are chosen. */
export function total<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return sum(selection, selected(spec.name, selection.where));
}

/** A gauge of each worker, added up over all of them, chosen or not. */
export function totalOfAll<const Spec extends MetricSpec>(
  spec: Spec,
  { by = [], where }: Selection<Spec> = {},
): string {
  return `sum${grouped(by)} (${selected(spec.name, where, CHOSEN_JOBS)})`;
}

/** A gauge of each worker, by itself. */
export function each<const Spec extends MetricSpec>(spec: Spec, { where }: Selection<Spec> = {}): string {
  return selected(spec.name, where);
}

/** How much of a counter comes in a second, in each worker by itself. */
export function rateOfEach<const Spec extends MetricSpec>(spec: Spec, selection: Selection<Spec> = {}): string {
  return `rate(${ranged(spec.name, selection)})`;
}

function sum(selection: Selection<MetricSpec>, inner: string): string {
  return `sum${grouped(selection.by ?? [])} (${inner})`;
}

function grouped(labels: readonly string[]): string {
  return labels.length === 0 ? '' : ` by (${labels.join(', ')})`;
}

function ranged(name: string, { where, window = '$__rate_interval' }: Selection<MetricSpec>): string {
  return `${selected(name, where)}[${window}]`;
}

function selected(name: string, where: Selection<MetricSpec>['where'] = {}, among = CHOSEN_WORKERS): string {
  const matchers = Object.entries(where).map(([label, matcher]) => `${label}${matcher}`);
  return `${name}{${[...among, ...matchers].join(', ')}}`;
}
