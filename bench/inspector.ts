/**
 * Measures the inspector at 10,000 messages in headless Chromium: `node bench/inspector.ts [--json]`. First paint and the
 * first drawn messages after a navigation, and the time from a key or a click to the next painted frame. Each figure is
 * the median, with the 95th percentile behind it, in ms. Targets: 300 ms to the first paint, 100 ms for an interaction.
 */
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { openClient } from '../src/api/client/index.ts';
import { createHttpApp } from '../src/api/http/app.ts';
import { serveHttp } from '../src/api/http/serve-http.ts';
import { withPage } from '../src/api/http/static-page.ts';
import { provideRedis } from '../src/host/local-redis/provide-redis.ts';
import { findChromium, openBrowser } from '../test/chat/page-browser.ts';
import { buildInspector } from '../test/inspector/built-inspector.ts';
import { sampleSize } from './sample-size.ts';

const MESSAGES = sampleSize(10_000, 1_000);
const BATCH = sampleSize(2_500, 500);
const LOADS = sampleSize(10, 2);
const KEYS = sampleSize(40, 4);
const CONVERSATION = 'long';
const PROBE = fileURLToPath(new URL('inspector-probe.js', import.meta.url));

interface Row {
  readonly what: string;
  readonly medianMs: number;
  readonly p95Ms: number;
}

function summarize(what: string, times: readonly number[]): Row {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 10) / 10;
  return { what, medianMs: at(0.5), p95Ms: at(0.95) };
}

async function measureLoads(page: Page, url: string): Promise<Row[]> {
  const [paints, rows]: [number[], number[]] = [[], []];
  await page.addInitScript({ path: PROBE });
  for (let load = 0; load < LOADS; load += 1) {
    await page.goto('about:blank');
    await page.goto(`${url}/#/c/${CONVERSATION}`);
    await page.locator('.timeline-row .row-text').first().waitFor();
    paints.push(await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0].startTime"));
    rows.push(await page.evaluate<number>('probe.drawnMs'));
  }
  return [summarize('navigation → first contentful paint', paints), summarize('navigation → messages drawn', rows)];
}

async function measureKeys(page: Page): Promise<Row[]> {
  const measured: Row[] = [];
  for (const [key, what] of [
    ['k', 'key k → next frame'],
    ['PageUp', 'key PageUp → next frame'],
  ] as const) {
    const times: number[] = [];
    for (let press = 0; press < KEYS; press += 1) times.push(await page.evaluate<number>(`probe.timeKey('${key}')`));
    measured.push(summarize(what, times));
  }
  const jumps: number[] = [];
  for (let press = 0; press < LOADS; press += 1) {
    jumps.push(await page.evaluate<number>(`probe.timeKey('${press % 2 === 0 ? 'Home' : 'End'}')`));
  }
  return [...measured, summarize('key Home or End → next frame', jumps)];
}

/** Opens a message of one line without a break, at its start and then whole. */
async function measureLine(page: Page): Promise<Row[]> {
  const [starts, wholes]: [number[], number[]] = [[], []];
  for (let times = 0; times < LOADS; times += 1) {
    starts.push(await page.evaluate<number>("probe.timeClick('.timeline-row:has(.row-text):last-child', 0)"));
    wholes.push(await page.evaluate<number>("probe.timeClick('.long-text > .button', probe.countShown())"));
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
  }
  return [summarize('click → first 50 kB of a 1 MB line', starts), summarize('click → the whole 1 MB line', wholes)];
}

const executable = findChromium();
if (executable === undefined) throw new Error('this bench needs chromium on PATH');
const redis = await provideRedis({ log: console.error });
const client = await openClient({ redisUrl: redis.url });
const conversation = { conversation: CONVERSATION, agent: 'bench' };
for (let from = 0; from < MESSAGES; from += BATCH) {
  const messages = Array.from({ length: BATCH }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `message ${from + index}: ${'some words of a message '.repeat(8)}`,
  }));
  await client.append({ ...conversation, messages });
}
await client.append({ ...conversation, messages: [{ role: 'user', content: 'x'.repeat(1_000_000) }] });
const folder = await buildInspector();
const app = createHttpApp({ client, authenticate: 'none', isReadOnly: true });
const fetch = withPage(folder, app.fetch);
const server = await serveHttp({ app: { fetch, close: () => app.close() }, host: '127.0.0.1', port: 0 });
const browser = await openBrowser(executable);
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const rows = [...(await measureLoads(page, server.url)), ...(await measureKeys(page)), ...(await measureLine(page))];
  if (process.argv.includes('--json')) console.log(JSON.stringify(rows));
  else for (const { what, medianMs, p95Ms } of rows) console.log(`${what.padEnd(38)} ${medianMs} (${p95Ms}) ms`);
} finally {
  await browser.close();
  await server.close(1_000);
  await client.close();
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
}
