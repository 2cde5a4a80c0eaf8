import { GAUGES, HTTP_METRICS, METRICS, type MetricSpec } from '../src/telemetry/metric-catalogue.ts';

/** Renders the catalogue of metrics as a Markdown table, sorted by name. */
export function tabulateMetrics(): string {
  const specs: readonly MetricSpec[] = [
    ...Object.values(METRICS),
    ...Object.values(GAUGES),
    ...Object.values(HTTP_METRICS),
  ];
  const rows = specs
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, type, labels, help }) => {
      const names = labels.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${names} | ${help.replaceAll('|', '\\|')} |`;
    });
  return ['| metric | type | labels | meaning |', '|---|---|---|---|', ...rows].join('\n');
}
