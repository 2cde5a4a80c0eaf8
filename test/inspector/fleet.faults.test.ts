import { describe, expect, onTestFinished, test } from 'vitest';
import { BOARD_PATH, withQueueBoard } from '../../src/api/http/queue-board.ts';
import { openFleet } from '../../src/host/health/fleet.ts';
import { openFixture, SHARDS } from '../client/fixture.ts';
import { chromium, findViolations, useInspector } from './inspector-page.ts';

const HOSTILE = 'ready t|_|<img src=x onerror=alert(1)>';
const PHONE = { width: 360, height: 720 };

describe.skipIf(chromium === undefined)('the fleet in a browser (skipped without Chromium)', () => {
  const inspector = useInspector();

  async function openFleetPage(options: { readonly allowed?: RegExp } = {}) {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    const onError = () => undefined;
    const grafanaUrl = 'https://grafana.example/d/turnfold';
    const terms = { shards: SHARDS, queueShards: 1, inbox: false, stuckMs: 60_000, grafanaUrl, onError };
    const fleet = await openFleet({ url: fixture.url, ...terms });
    onTestFinished(() => fleet.close());
    const opened = await inspector.open(fixture.client, {
      ...options,
      app: { fleet: () => fleet.read() },
      wrap: (answer) =>
        withQueueBoard(answer, { authenticate: 'none', queues: fleet.queues, allowsChanges: false, onError }),
    });
    return { ...fixture, ...opened };
  }

  test('without workers, the fleet page says what to start, and it shows the work of a started worker live', async () => {
    const opened = await openFleetPage();
    const { page, client } = opened;
    await client.enqueueTurn({ conversation: 'c', agent: 'talker', turn: 't1', input: 'hello' });
    await opened.go('/fleet');
    await page.getByText('No worker runs').waitFor();
    await page.getByText('jobs wait, but no worker is connected').waitFor();
    await opened.startWorkers();
    await client.result('c', 't1');
    await page.getByText('alive', { exact: true }).waitFor();
    await page.getByRole('img', { name: /^Turn jobs: 1 job in the last hour/ }).waitFor();
    expect(await page.getByRole('link', { name: 'Open Grafana' }).getAttribute('href')).toContain('grafana.example');
    expect(await page.getByRole('link', { name: 'All jobs in bull-board' }).getAttribute('href')).toBe(
      '/inspect/queues',
    );
  });

  test('bull-board shows the queues under the content security policy of the inspector', async () => {
    // The policy refuses inline styles of bull-board, which change only its looks. Scripts must run.
    const { page, url } = await openFleetPage({ allowed: /^Applying inline style violates/ });
    await page.goto(`${url}${BOARD_PATH}`);
    for (const queue of ['turn', 'compaction', 'summarization']) {
      const links = page.getByRole('link', { name: new RegExp(`^${queue}`, 'i') });
      await expect.poll(() => links.count()).toBeGreaterThan(0);
    }
  });

  test('the fleet page shows dead workers, quarantined records and failing webhooks as text that fits a phone', async () => {
    const opened = await openFleetPage();
    const { page, client, redis } = opened;
    const now = Date.now();
    await redis.hset('{tf}:workers', 'gone', `turn|${now - 90_000}`);
    await redis.hset('{tf1}:quarantined', HOSTILE, `${now} 0 ${'long '.repeat(100)}`);
    const { webhook } = await client.webhooks.add({ tenant: '_', url: 'https://hooks.example.com/a?secret=1' });
    await redis.hset(`{tf}:webhook:${webhook.id}`, {
      failingSince: String(now),
      failures: '3',
      lastFailure: 'status 500',
    });
    await opened.go('/fleet');
    await page.getByText('dead', { exact: true }).waitFor();
    await page.getByRole('rowheader', { name: HOSTILE }).waitFor();
    await page.getByText('status 500').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await findViolations(page)).toEqual([]);
    }
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  test('a person can reach the checks, the tables and the links of the fleet page by keyboard alone', async () => {
    const opened = await openFleetPage();
    const { page } = opened;
    await opened.go('/fleet');
    await page.getByText(/checks are well/).waitFor();
    const reached = new Set<string>();
    for (let presses = 0; presses < 15; presses += 1) {
      await page.keyboard.press('Tab');
      reached.add(String(await page.evaluate('document.activeElement?.textContent')));
      if ([...reached].some((text) => text.endsWith('checks are well'))) break;
    }
    await page.keyboard.press('Enter');
    await page.getByText('no unreadable record was found').waitFor();
    expect([...reached]).toEqual(expect.arrayContaining(['Fleet', 'Open Grafana']));
  });
});
