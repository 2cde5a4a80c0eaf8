/** The units of Grafana that are in use here. */
export type Unit =
  | 'short'
  | 's'
  | 'percentunit'
  | 'bytes'
  | 'Bps'
  | 'currencyUSD'
  | 'turns/s'
  | 'passes/s'
  | 'requests/s'
  | 'jobs/s'
  | 'tokens'
  | 'tokens/s'
  | 'events/s'
  | 'cores';

export interface Query {
  readonly expr: string;
  /** `{{label}}` stands for the series' own */
  readonly legend: string;
}

export type Color = 'green' | 'orange' | 'red' | 'blue';

/**
 * Color from the value `from` on. Values below the first threshold are green, or red if the first threshold is green.
 */
export interface Threshold {
  readonly from: number;
  readonly color: Color;
}

interface PanelTerms {
  readonly title: string;
  /** Meaning, reason to worry, and where to look next. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly [Query, ...Query[]];
  /** Columns of 24. */
  readonly width: number;
  readonly thresholds?: readonly Threshold[];
  readonly max?: number;
  readonly decimals?: number;
}

export interface StatTerms extends PanelTerms {
  readonly thresholds: readonly Threshold[];
  /** Text for a missing value, if 0 would be false (0). */
  readonly without?: string;
}

export interface GraphTerms extends PanelTerms {
  /** on top of each other: parts of a whole */
  readonly isStacked?: boolean;
  /** legend → colour, where a series is good or bad by itself */
  readonly colors?: Readonly<Record<string, Color>>;
}

/** A panel as Grafana keeps it, but for its id and place. */
export interface Panel {
  readonly width: number;
  readonly height: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** The data source that is chosen at the top of the dashboard. */
export const DATASOURCE = { type: 'prometheus', uid: '$datasource' } as const;

const STAT_HEIGHT = 4;
const GRAPH_HEIGHT = 8;
/** Text of a panel before the first event of its kind. Grafana's own “No data” reads as a fault. */
const NO_SERIES = '0';

/**
 * One number, colored by its thresholds. It is queried at the end of the time shown only: a range query would show
 * the last value for hours after its worker died.
 */
export function stat(terms: StatTerms): Panel {
  const { width, without = NO_SERIES } = terms;
  return {
    width,
    height: STAT_HEIGHT,
    json: {
      ...describePanel('stat', terms, { instant: true, range: false }),
      fieldConfig: {
        defaults: { ...describeField(terms), color: { mode: 'thresholds' }, noValue: without },
        overrides: [],
      },
      options: {
        colorMode: 'background',
        graphMode: 'none',
        justifyMode: 'auto',
        orientation: 'auto',
        reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
        textMode: terms.queries.length === 1 ? 'value' : 'value_and_name',
        wideLayout: true,
      },
    },
  };
}

/** Series over time, with thresholds as lines. */
export function graph(terms: GraphTerms): Panel {
  const { width, isStacked = false, colors = {}, thresholds = [] } = terms;
  const custom = {
    drawStyle: 'line',
    lineInterpolation: 'linear',
    lineWidth: 1,
    fillOpacity: isStacked ? 40 : 10,
    showPoints: 'auto',
    spanNulls: 60_000, // ms: shared gauges are absent for some seconds while another worker takes them over
    axisSoftMin: 0,
    stacking: { mode: isStacked ? 'normal' : 'none', group: 'A' },
    thresholdsStyle: { mode: thresholds.length === 0 ? 'off' : 'dashed' },
  };
  return {
    width,
    height: GRAPH_HEIGHT,
    json: {
      ...describePanel('timeseries', terms),
      fieldConfig: {
        defaults: { ...describeField(terms), color: { mode: 'palette-classic' }, noValue: NO_SERIES, custom },
        overrides: Object.entries(colors).map(([legend, fixedColor]) => ({
          matcher: { id: 'byName', options: legend },
          properties: [{ id: 'color', value: { mode: 'fixed', fixedColor } }],
        })),
      },
      options: {
        legend: { showLegend: true, displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
    },
  };
}

/** Distribution over time, which shows what quantiles hide, such as two humps. Takes one query, by `le`. */
export function heatmap(terms: PanelTerms): Panel {
  const panel = describePanel('heatmap', terms);
  return {
    width: terms.width,
    height: GRAPH_HEIGHT,
    json: {
      ...panel,
      targets: panel.targets.map((target) => ({ ...target, format: 'heatmap' })),
      fieldConfig: { defaults: { unit: 'short', noValue: NO_SERIES }, overrides: [] },
      options: {
        calculate: false,
        cellGap: 1,
        color: { mode: 'scheme', scheme: 'Oranges', steps: 64 },
        filterValues: { le: 1e-9 },
        legend: { show: true },
        rowsFrame: { layout: 'auto' },
        tooltip: { mode: 'single', yHistogram: false },
        yAxis: { axisPlacement: 'left', unit: terms.unit },
      },
    },
  };
}

function describePanel(type: string, { title, description, queries }: PanelTerms, how: object = { range: true }) {
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      editorMode: 'code',
      expr,
      legendFormat: legend,
      ...how,
    })),
  };
}

function describeField({ unit, thresholds = [], max, decimals }: PanelTerms) {
  const base = thresholds[0]?.color === 'green' ? 'red' : 'green';
  const steps = thresholds.map(({ from, color }) => ({ color, value: from }));
  return {
    unit: GRAFANA_UNITS[unit] ?? unit,
    min: 0,
    ...(max !== undefined && { max }),
    ...(decimals !== undefined && { decimals }),
    thresholds: { mode: 'absolute', steps: [{ color: base, value: null }, ...steps] },
  };
}

/** Our units are suffixes: Grafana has no name for them. */
const GRAFANA_UNITS: Readonly<Partial<Record<Unit, string>>> = {
  'turns/s': 'suffix: turns/s',
  'passes/s': 'suffix: passes/s',
  'requests/s': 'suffix: requests/s',
  'jobs/s': 'suffix: jobs/s',
  'events/s': 'suffix: /s',
  tokens: 'short',
  'tokens/s': 'suffix: tokens/s',
  cores: 'suffix: cores',
};
