import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDemoAgent } from '../../src/demo/demo-agent.ts';
import { loadQuestionScript } from '../../src/demo/load-script.ts';
import { runConversation } from '../../src/demo/run-demo.ts';
import { createTalker, openFixture, talk } from '../client/fixture.ts';
import { chromium, useInspector } from './inspector-page.ts';

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

  test('the demo has pictures for the docs (skipped without INSPECTOR_PICTURES)', async () => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    const script = await loadQuestionScript(ROOT);
    const agent = createDemoAgent(CONVERSATION, script, { isCompacted: true, makeModel: undefined });
    await fixture.startWorkers([agent, createTalker()]);
    const run = await runConversation(fixture.client, agent, script, () => undefined);
    const [, , third] = run.versions;
    for (const [conversation, input, asked] of OTHERS)
      await fixture.client.enqueueTurn({ conversation, agent: asked, input });
    await fixture.client.append({ conversation: 'mail-1207', agent: 'talker', messages: talk(6) });

    const { page, go } = await inspector.open(fixture.client, { context: { viewport: SIZE } });
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
    expect(run.failures).toEqual([]);
  });
});
