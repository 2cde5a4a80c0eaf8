import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDemoAgent } from '../../src/demo/demo-agent.ts';
import { loadQuestionScript } from '../../src/demo/load-script.ts';
import { runConversation } from '../../src/demo/run-demo.ts';
import { openFixture } from '../client/fixture.ts';
import { chromium, useInspector } from './inspector-page.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMAGES = join(ROOT, 'docs/images');
const CONVERSATION = 'questions-about-turnfold';
const SIZE = { width: 1180, height: 720 };

async function takePicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(IMAGES, `inspector-${name}.png`) });
}

/** `INSPECTOR_PICTURES=1 npx vitest run --project faults test/inspector/pictures` writes the pictures of the docs. */
describe.skipIf(chromium === undefined || process.env['INSPECTOR_PICTURES'] === undefined)('pictures', () => {
  const inspector = useInspector();

  test('the demo has pictures for the docs (skipped without INSPECTOR_PICTURES)', async () => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    const script = await loadQuestionScript(ROOT);
    const agent = createDemoAgent(CONVERSATION, script, { isCompacted: true, makeModel: undefined });
    await fixture.startWorkers([agent]);
    const run = await runConversation(fixture.client, agent, script, () => undefined);
    const [, , third] = run.versions;

    const { page, go } = await inspector.open(fixture.client, { context: { viewport: SIZE } });
    await go('/');
    await page.getByRole('link', { name: CONVERSATION }).waitFor();
    await takePicture(page, 'conversations');
    await go(`/c/${CONVERSATION}?seq=${third?.measuredAt.head ?? 1}`);
    await page.locator('.divider', { hasText: 'v3 · ' }).waitFor();
    await page.locator('.category', { hasText: 'Tool results' }).locator('summary').click();
    await takePicture(page, 'context');
    await page.locator('.timeline-row.is-active').click();
    await page.locator('dialog pre').first().waitFor();
    await takePicture(page, 'message');
    await page.keyboard.press('Escape');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 360, height: 720 });
    await takePicture(page, 'phone');
    expect(run.failures).toEqual([]);
  });
});
