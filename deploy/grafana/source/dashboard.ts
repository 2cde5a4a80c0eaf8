import { PROCESS } from './foreign-metrics.ts';
import { DATASOURCE, type Panel } from './panel.ts';

export interface Row {
  readonly title: string;
  /** Panels in reading order. A new line begins after 24 columns. */
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  /** Name for links and files. The uid is `turnfold-<name>`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const COLUMNS = 24;
const TAG = 'turnfold';
/** Schema of Grafana 10.4. Newer versions migrate it at load. */
const SCHEMA_VERSION = 39;
/** Every worker has it from its first scrape on. */
const PRESENT = PROCESS.start.name;

/** The dashboard as Grafana reads it from a file. */
function describeDashboard({ name, title, description, rows }: Dashboard): Readonly<Record<string, unknown>> {
  return {
    uid: `turnfold-${name}`,
    title: `turnfold / ${title}`,
    description,
    tags: [TAG],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1, // one cursor over all panels
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        type: 'dashboards',
        title: 'turnfold',
        tags: [TAG],
        asDropdown: false,
        icon: 'external link',
        includeVars: true,
        keepTime: true,
        targetBlank: false,
      },
    ],
    templating: { list: [chooseDatasource(), chooseLabel('job'), chooseLabel('instance', '{job=~"$job"}')] },
    annotations: { list: [markStarts()] },
    panels: placePanels(rows),
  };
}

function chooseDatasource() {
  return {
    name: 'datasource',
    label: 'Prometheus',
    type: 'datasource',
    query: 'prometheus',
    current: { text: 'turnfold', value: 'turnfold-prometheus', selected: true },
    hide: 0,
    refresh: 1,
    regex: '',
  };
}

function chooseLabel(label: 'job' | 'instance', among = '') {
  const query = `label_values(${PRESENT}${among}, ${label})`;
  return {
    name: label,
    label: label === 'job' ? 'Job' : 'Worker',
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: `variable-${label}` },
    current: { text: ['All'], value: ['$__all'], selected: true },
    includeAll: true,
    allValue: '.+',
    multi: true,
    hide: 0,
    refresh: 2, // at each change of the time range: replicas come and go
    regex: '',
    sort: 1,
  };
}

/** A worker that starts amid a graph is half of most explanations. */
function markStarts() {
  return {
    name: 'Worker starts',
    datasource: DATASOURCE,
    enable: true,
    hide: false,
    iconColor: 'purple',
    expr: `${PRESENT}{job=~"$job", instance=~"$instance"} * 1000`,
    useValueForTime: true,
    titleFormat: 'Worker started',
    textFormat: '{{job}} {{instance}}',
    step: '30s',
  };
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Rows below each other, panels beside each other. Ids in reading order. */
function placePanels(rows: readonly Row[]): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    const place = { h: 1, w: COLUMNS, x: 0, y };
    placed.push({ id: placed.length + 1, type: 'row', title, collapsed: false, gridPos: place, panels: [] });
    let next: Place = { x: 0, y: y + 1 };
    let bottom = next.y;
    for (const { width, height, json } of panels) {
      if (next.x + width > COLUMNS) next = { x: 0, y: bottom };
      placed.push({ id: placed.length + 1, gridPos: { h: height, w: width, ...next }, ...json });
      bottom = Math.max(bottom, next.y + height);
      next = { x: next.x + width, y: next.y };
    }
    y = bottom;
  }
  return placed;
}

/** As its file reads. */
export function printDashboard(dashboard: Dashboard): string {
  return `${JSON.stringify(describeDashboard(dashboard), undefined, 2)}\n`;
}
