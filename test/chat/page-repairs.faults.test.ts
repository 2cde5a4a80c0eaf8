import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { createFrontEndAgent } from '../http/front-end-agent.ts';
import { missing, openPage, say, takePicture } from './open-page.ts';

const why = missing.length === 0 ? '' : `, missing: ${missing.join(', ')}`;
const note = `(skipped without chromium and the built page${why})`;

async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(`axe.run()`);
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

describe.skipIf(missing.length > 0)('repairs', () => {
  test(`the page sends a message until the server has it, and shows it once ${note}`, async () => {
    const { client, page, url } = await openPage(createFrontEndAgent());
    let losses = 0;
    await page.route('**/v1/chat/lost/messages', async (route) => {
      if (route.request().method() !== 'POST' || losses >= 3) return await route.continue();
      losses += 1;
      // The server has the message, and the page does not learn it.
      if (losses === 2) await route.fetch();
      return await route.abort();
    });
    await page.goto(`${url}/#lost`);
    await say(page, 'hi');
    await page.locator('.banner').waitFor();
    await takePicture(page, 'reconnecting');
    await page.locator('.assistant .text').waitFor();
    await page.locator('.banner').waitFor({ state: 'detached' });
    const log = await client.log('lost');
    expect(log.map(({ message }) => message.content)).toEqual(await page.locator('.text').allTextContents());
    expect(log).toHaveLength(2);
  });

  test(`the page keeps a message that the server refused, and accepts another one ${note}`, async () => {
    const { client, page, url } = await openPage(createFrontEndAgent());
    const refusal = { status: 403, json: { status: 403, code: 'access_denied', detail: 'this key may not enqueue' } };
    await page.route(
      '**/v1/chat/refused/messages',
      async (route) => await (route.request().method() === 'POST' ? route.fulfill(refusal) : route.continue()),
    );
    await page.goto(`${url}/#refused`);
    await say(page, 'hi');
    await page.locator('.queue .refused', { hasText: 'this key may not enqueue' }).waitFor();
    await page.unroute('**/v1/chat/refused/messages');
    await say(page, 'ho');
    await page.locator('.assistant .text', { hasText: 'heard ho' }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.locator('.assistant .text', { hasText: 'heard hi' }).waitFor();
    expect((await client.log('refused')).map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
  });

  test(`the page shows the turns of another program as they come ${note}`, async () => {
    const { client, page, url } = await openPage(createFrontEndAgent());
    await page.goto(`${url}/#live`);
    await page.locator('.empty').waitFor();
    await client.enqueueTurn({ conversation: 'live', agent: 'guide', turn: 'elsewhere', input: 'from a service' });
    await page.locator('.user .text', { hasText: 'from a service' }).waitFor();
    await page.locator('.assistant .text', { hasText: 'heard from a service' }).waitFor();
    expect(await page.locator('.messages > li').count()).toBe(2);
  });

  test(`the page loads earlier messages in pages, and has no fault that axe finds ${note}`, async () => {
    const { client, page, url } = await openPage(createFrontEndAgent(), { viewport: { width: 390, height: 844 } });
    const messages = Array.from({ length: 240 }, (_, nth) => [
      { role: 'user' as const, content: `Question ${nth}` },
      { role: 'assistant' as const, content: `Answer ${nth}. ${'Some more words. '.repeat(20)}` },
    ]).flat();
    for (let at = 0; at < messages.length; at += 100)
      await client.append({ conversation: 'long', agent: 'guide', messages: messages.slice(at, at + 100) });
    await page.goto(`${url}/#long`);
    await page.locator('.user .text', { hasText: 'Question 239' }).waitFor();
    expect(await page.locator('.messages > li').count()).toBe(100);
    await takePicture(page, 'long-phone');
    for (const count of [200, 300, 400, 480]) {
      await page.getByRole('button', { name: 'Load earlier messages' }).click();
      await expect.poll(() => page.locator('.messages > li').count()).toBe(count);
    }
    expect(await page.getByRole('button', { name: 'Load earlier messages' }).count()).toBe(0);
    expect(await page.locator('.user .text').first().textContent()).toBe('Question 0');
    expect(await findViolations(page)).toEqual([]);
  });
});
