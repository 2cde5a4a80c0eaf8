import { expect, test } from 'vitest';
import { createMetrics } from '../../src/telemetry/metrics.ts';

test('500 simultaneous scrapes share one rendering, and the next scrape renders again', async () => {
  const metrics = createMetrics();
  let rendered = 0;
  const given = metrics.registry.metrics.bind(metrics.registry);
  metrics.registry.metrics = () => {
    rendered += 1;
    return given();
  };
  const pages = await Promise.all(Array.from({ length: 500 }, () => metrics.render()));
  expect(rendered).toBe(1);
  expect(new Set(pages.map(({ body }) => body)).size).toBe(1);
  await metrics.render();
  expect(rendered).toBe(2);
});
