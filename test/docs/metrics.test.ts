import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tabulateMetrics } from '../../scripts/metrics-table.ts';

test('docs/reference/metrics.md has every metric of the catalogue (node scripts/write-metrics.ts writes them)', () => {
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
  expect(page).toContain(`\n${tabulateMetrics()}\n`);
});
