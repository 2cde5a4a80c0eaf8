import type { Locator, Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFrontEndAgent, gates } from '../http/front-end-agent.ts';
import { missing, openPage, say, takePicture } from './open-page.ts';

const why = missing.length === 0 ? '' : `, missing: ${missing.join(', ')}`;
const note = `(skipped without chromium and the built page${why})`;

function holdGate(name: string): PromiseWithResolvers<void> {
  const gate = Promise.withResolvers<void>();
  gates.set(name, gate);
  onTestFinished(() => {
    gate.resolve();
    gates.delete(name);
  });
  return gate;
}

/** True if a part of an element is visible. */
async function isInView(page: Page, element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  return box !== null && box.y + box.height > 0 && box.y < (page.viewportSize()?.height ?? 0);
}

describe.skipIf(missing.length > 0)('states', () => {
  test(`the page asks, streams, keeps a queue and shows each message once ${note}`, async () => {
    const { client, page, url } = await openPage(createFrontEndAgent());
    const gate = holdGate('page-1');
    await page.goto(`${url}/#queue`);
    await page.locator('.empty button').first().waitFor();
    await takePicture(page, 'empty');
    await say(page, 'hold page-1');
    await page.locator('.assistant .text', { hasText: 'One' }).waitFor();
    await say(page, 'second');
    await say(page, 'third');
    await expect.poll(() => page.locator('.queue li').count()).toBe(2);
    await takePicture(page, 'streaming-with-queue');
    await page.locator('.queue li', { hasText: 'third' }).getByRole('button', { name: 'Remove' }).click();
    await expect.poll(() => page.locator('.queue li').count()).toBe(1);
    gate.resolve();
    await page.locator('.assistant .text', { hasText: 'heard second' }).waitFor();
    await page.locator('.messages[data-status=ready]').waitFor();
    expect(await page.locator('.queue li').count()).toBe(0);
    const shown = await page.locator('.text').allTextContents();
    const log = await client.log('queue');
    expect(shown).toEqual(log.map(({ message }) => message.content));
    await page.reload();
    await expect.poll(() => page.locator('.text').allTextContents()).toEqual(shown);
  });

  test(`an approval reaches the server while a refused message waits ${note}`, async () => {
    const { page, url, newPage } = await openPage(createFrontEndAgent());
    await page.goto(`${url}/#approve`);
    await say(page, 'call book');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await say(page, 'and something else');
    await page.locator('.queue .refused .failure').waitFor();
    await takePicture(page, 'approval-with-refused-message');
    const second = await newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await second.goto(`${url}/#approve`);
    await second.getByRole('button', { name: 'Allow' }).waitFor();
    await takePicture(second, 'approval-phone-dark');
    await page.getByRole('button', { name: 'Allow' }).click();
    for (const tab of [page, second]) await tab.locator('.assistant .text', { hasText: 'So: booked' }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    for (const tab of [page, second])
      await tab.locator('.assistant .text', { hasText: 'heard and something else' }).waitFor();
    expect(await page.locator('.queue li').count()).toBe(0);
    await takePicture(page, 'approved');
  });

  test(`a failed turn is shown with its reason, and a click tries again ${note}`, async () => {
    const { page, url } = await openPage(createFrontEndAgent());
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${url}/#failed`);
    await say(page, 'fail');
    await page.locator('.failed').waitFor();
    await page.locator('.messages[data-status=ready]').waitFor();
    await takePicture(page, 'failed');
    const before = asked.length;
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => asked.length).toBeGreaterThan(before);
    await page.locator('.failed').waitFor();
    expect(await page.locator('.user').count()).toBe(1);
    await page.reload();
    await page.locator('.failed').waitFor();
  });

  test(`a stop keeps the text so far and marks the answer ${note}`, async () => {
    const { page, url } = await openPage(createFrontEndAgent(), { colorScheme: 'dark' });
    holdGate('page-2');
    await page.goto(`${url}/#stopped`);
    await say(page, 'hold page-2');
    await page.locator('.assistant .text', { hasText: 'One' }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('.mark', { hasText: 'stopped' }).waitFor();
    await takePicture(page, 'stopped-dark');
    await page.reload();
    await page.locator('.mark', { hasText: 'stopped' }).waitFor();
    expect(await page.locator('.assistant .text').allTextContents()).toEqual(['One ']);
  });

  test(`a long chat shows its end, and earlier messages on demand without moving what a person reads ${note}`, async () => {
    const { client, page, url } = await openPage(createFrontEndAgent());
    const messages = Array.from({ length: 130 }, (_, nth) => [
      { role: 'user' as const, content: `question ${nth}` },
      { role: 'assistant' as const, content: `answer ${nth}: ${'and so on, '.repeat(nth % 40)}` },
    ]).flat();
    await client.append({ conversation: 'long', agent: 'guide', messages });
    const answered = Promise.withResolvers<void>();
    await page.route('**/v1/**', async (route) => {
      await answered.promise;
      await route.continue();
    });
    await page.goto(`${url}/#long`);
    await page.getByRole('status', { name: 'Loading the conversation' }).waitFor();
    await takePicture(page, 'loading');
    answered.resolve();
    const last = page.locator('.assistant .text', { hasText: 'answer 129' });
    await last.waitFor();
    await expect.poll(() => isInView(page, last)).toBe(true);
    await takePicture(page, 'long');
    const shown = await page.locator('.messages > li').count();
    const first = page.locator('.messages .text').first();
    await first.scrollIntoViewIfNeeded();
    const text = await first.textContent();
    await page.getByRole('button', { name: 'Load earlier messages' }).click();
    await expect.poll(() => page.locator('.messages > li').count()).toBeGreaterThan(shown);
    expect(await isInView(page, page.getByText(text ?? '', { exact: true }))).toBe(true);
    await takePicture(page, 'long-earlier');
  });

  test(`a composer that grows hides no text of the last answer ${note}`, async () => {
    const { page, url } = await openPage(createFrontEndAgent(), { viewport: { width: 600, height: 500 } });
    await page.goto(`${url}/#grows`);
    const lines = Array.from({ length: 30 }, (_, nth) => `line ${nth}`).join('\n');
    await say(page, `tell ${lines}`);
    await page.locator('.messages[data-status=ready] .assistant .text').waitFor();
    await page.locator('form textarea').fill(lines);
    const hidden = `(() => {
      const last = [...document.querySelectorAll('.messages > li')].at(-1).getBoundingClientRect();
      return last.bottom - document.querySelector('footer').getBoundingClientRect().top;
    })()`;
    await expect.poll(() => page.evaluate<number>(hidden)).toBeLessThanOrEqual(0);
  });

  test(`a text that is being written survives a reload, and a refused one goes back into the composer ${note}`, async () => {
    const { page, url } = await openPage(createFrontEndAgent());
    await page.goto(`${url}/#draft`);
    const field = page.locator('form textarea');
    await field.fill('half a sentence');
    await page.reload();
    await expect.poll(() => field.inputValue()).toBe('half a sentence');
    await field.fill('call book');
    await field.press('Enter');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await say(page, 'too early');
    await page.locator('.queue .refused').getByRole('button', { name: 'Edit' }).click();
    await expect.poll(() => field.inputValue()).toBe('too early');
    expect(await page.locator('.queue li').count()).toBe(0);
  });
});
