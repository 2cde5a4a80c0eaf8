/** Writes the dashboards that Grafana is provisioned with: `npx node deploy/grafana/build.ts`. A test compares both. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { printDashboard } from './source/dashboard.ts';
import { DASHBOARDS } from './source/dashboards.ts';

const folder = new URL('./dashboards/', import.meta.url);

mkdirSync(folder, { recursive: true });
for (const dashboard of DASHBOARDS) {
  writeFileSync(new URL(`${dashboard.name}.json`, folder), printDashboard(dashboard));
}
