/**
 * Writes the table of metrics into docs/reference/metrics.md. test/docs/metrics.test.ts fails if the page and the code
 * differ.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { tabulateMetrics } from './metrics-table.ts';

const file = new URL('../docs/reference/metrics.md', import.meta.url);
const [before = '', , after = ''] = readFileSync(file, 'utf8').split(/(<!-- metrics: [^]*?<!-- \/metrics -->)/);
const head = '<!-- metrics: written by `npx node scripts/write-metrics.ts` -->';
writeFileSync(file, `${before}${head}\n\n${tabulateMetrics()}\n\n<!-- /metrics -->${after}`);
