import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDemoAgent } from '../../src/cli/demo/demo-agent.ts';
import { loadQuestionScript } from '../../src/cli/demo/load-script.ts';
import { runConversation } from '../../src/cli/demo/run-demo.ts';
import { openFleet } from '../../src/host/health/fleet.ts';
import { createTalker, openFixture, SHARDS, talk } from '../client/fixture.ts';
import { chromium, useInspector } from './inspector-page.ts';
import { openScene } from './panels-scene.ts';
import { hasTraces } from './recorded-log.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMAGES = join(ROOT, 'docs/images');
const CONVERSATION = 'questions-about-turnfold';
/** Conversations for the list: two that wait, and one whose agent no worker has. */
const OTHERS = [
  ['order-4711', 'call ask', 'talker'],
  ['refund-88', 'call risk', 'talker'],
  ['chat-305', 'hello', 'guide'],
] as const;
const SIZE = { width: 1180, height: 720 };

async function takePicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(IMAGES, `inspector-${name}.png`) });
}

/** `INSPECTOR_PICTURES=1 npx vitest run --project faults test/inspector/pictures` writes the pictures of the docs. */
describe.skipIf(chromium === undefined || process.env['INSPECTOR_PICTURES'] === undefined)('pictures', () => {
  const inspector = useInspector();

  test('this script takes pictures of the demo for the docs (skipped without INSPECTOR_PICTURES)', async () => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    const script = await loadQuestionScript(ROOT);
    const agent = createDemoAgent(CONVERSATION, script, { isCompacted: true, makeModel: undefined });
    await fixture.startWorkers([agent, createTalker()]);
    const run = await runConversation(fixture.client, agent, script, () => undefined);
    const [, , third] = run.versions;
    for (const [conversation, input, asked] of OTHERS)
      await fixture.client.enqueueTurn({ conversation, turn: 't1', agent: asked, input });
    await fixture.client.append({ conversation: 'mail-1207', agent: 'talker', messages: talk(6) });

    const { page, go } = await inspector.open(fixture.client, {
      app: { isReadOnly: false },
      context: { viewport: SIZE },
    });
    await go('/');
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    for (const state of ['waits for tools', 'waits for approval', 'failed'])
      await page.getByText(state).first().waitFor();
    await page.setViewportSize({ width: SIZE.width, height: 360 });
    await takePicture(page, 'conversations');
    await page.setViewportSize(SIZE);
    await go(`/c/${CONVERSATION}?seq=${third?.measuredAt.head ?? 1}`);
    await page.locator('.divider', { hasText: 'v3 · ' }).waitFor();
    await page.locator('.category', { hasText: 'Summaries' }).locator('summary').click();
    await takePicture(page, 'context');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 720 });
    await takePicture(page, 'phone');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(SIZE);
    await go(`/c/${CONVERSATION}/v/${third?.number ?? 1}`);
    await page.locator('.chips-lost .chip').first().click();
    await page.locator('.mark-chosen').first().waitFor();
    await page.evaluate("document.querySelector('.summary-part').scrollIntoView()");
    await takePicture(page, 'version');
    await go(`/c/${CONVERSATION}/trial`);
    await page.getByText(/planned in/).waitFor();
    await takePicture(page, 'trial');
    await go('/c/refund-88/t/t1');
    await page.getByText('The turn waits for a decision').waitFor();
    await takePicture(page, 'turn');
    expect(run.failures).toEqual([]);
  });

  test.skipIf(!hasTraces)('this script takes pictures of changes, a proposal and the fleet for the docs', async () => {
    const scene = await openScene();
    onTestFinished(() => scene.close());
    const { client, url } = scene;
    const terms = { shards: SHARDS, queueShards: 1, inbox: false, stuckMs: 60_000, grafanaUrl: undefined };
    const fleet = await openFleet({ url, ...terms, onError: () => undefined });
    onTestFinished(() => fleet.close());
    const { page, go } = await inspector.open(client, {
      app: { fleet: () => fleet.read(), isReadOnly: false },
      context: { viewport: SIZE },
    });
    await go('/c/retail/diff/1/2');
    await page.locator('.change-row').first().waitFor();
    await takePicture(page, 'changes');
    await expect.poll(() => client.proposal('review')).toBeDefined();
    await go('/c/review/proposal');
    await page.locator('.summary-edit').first().waitFor();
    await takePicture(page, 'proposal');
    for (let turn = 0; turn < 12; turn += 1)
      await client.enqueueTurn({ conversation: `order-${turn}`, agent: 'shop', turn: 't1', input: 'where is it?' });
    await Promise.all(
      Array.from({ length: 12 }, (_, turn) => client.result(`order-${turn}`, 't1', { waitMs: 60_000 })),
    );
    await go('/fleet');
    await page.getByRole('img', { name: /^Turn jobs: \d+ jobs? in the last hour/ }).waitFor();
    await takePicture(page, 'fleet');
  });
});
