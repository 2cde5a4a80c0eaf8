import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from '../http/front-end-agent.ts';
import { PAGE_FOLDER, startChatServer } from './chat-server.ts';
import { findChromium, openBrowser } from './page-browser.ts';

const chromium = findChromium();

async function openPage(): Promise<{ client: Fixture['client']; page: Page; url: string }> {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  await fixture.startWorkers([createFrontEndAgent()]);
  const server = await startChatServer(fixture.client, 'guide');
  onTestFinished(async () => void (await server.close()));
  const browser = await openBrowser(chromium ?? '');
  onTestFinished(() => browser.close());
  return { client: fixture.client, page: await browser.newPage(), url: server.url };
}

describe.skipIf(chromium === undefined || !existsSync(PAGE_FOLDER))('repairs', () => {
  test('the page shows an answer that was neither in its first messages nor replayed (skipped without chromium and the built page)', async () => {
    const { client, page, url } = await openPage();
    const asked = { conversation: 'missing', agent: 'guide', turn: 'asked.1', input: 'hi' };
    const { turn } = await client.enqueueTurn(asked);
    const { answer } = await client.result('missing', turn, { waitMs: 60_000 });
    // The messages of a moment at which the turn was open. When the page asks for its stream, the turn is no longer active.
    const messages = [{ id: 'asked', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
    await page.route('**/v1/chat/missing', (route) => route.fulfill({ json: { id: 'missing', messages } }), {
      times: 1,
    });
    await page.route('**/v1/chat/missing/stream', (route) => route.fulfill({ status: 204 }));
    await page.goto(`${url}/#missing`);
    await page.locator('.assistant .text').waitFor();
    expect(await page.locator('.text').allTextContents()).toEqual(['hi', answer?.content]);
  });

  test('the page sends a question again that was lost while the page asked for a stream (skipped without chromium and the built page)', async () => {
    const { client, page, url } = await openPage();
    const lost = Promise.withResolvers<void>();
    await page.route('**/v1/chat', (route) => route.abort().then(lost.resolve), { times: 1 });
    // The answer about the stream comes after the loss, and hides it.
    await page.route('**/v1/chat/lost/stream', async (route) => {
      await lost.promise;
      await page.locator('.failure').waitFor();
      await route.fulfill({ status: 204 });
    });
    await page.goto(`${url}/#lost`);
    await page.locator('form input').fill('hi');
    await page.locator('form button[type=submit]').click();
    await page.locator('.assistant .text').waitFor();
    const log = await client.log('lost');
    expect(log.map(({ message }) => message.content)).toEqual(await page.locator('.text').allTextContents());
    expect(log).toHaveLength(2);
  });

  test('the page accepts no second question before it knows whether the first has arrived (skipped without chromium and the built page)', async () => {
    const { client, page, url } = await openPage();
    const [asked, checked, answered] = [0, 1, 2].map(() => Promise.withResolvers<void>());
    await page.route('**/v1/chat', async (route) => {
      asked?.resolve();
      await answered?.promise;
      await route.continue();
    });
    // The answer about the stream comes while the question is on its way. `useChat` is then ready for the next question.
    await page.route('**/v1/chat/twice/stream', (route) => asked?.promise.then(() => route.fulfill({ status: 204 })), {
      times: 1,
    });
    await page.goto(`${url}/#twice`);
    await page.locator('form input').fill('hi');
    await page.route('**/v1/chat/twice', async (route) => {
      checked?.resolve();
      await answered?.promise;
      await route.continue();
    });
    await page.locator('form button[type=submit]').click();
    await checked?.promise;
    expect(await page.locator('form button').allTextContents()).toEqual(['Stop']);
    answered?.resolve();
    await page.locator('.assistant .text').waitFor();
    await page.locator('form button[type=submit]').waitFor();
    expect((await client.log('twice')).map(({ message }) => message.role)).toEqual(['user', 'assistant']);
  });

  test('the page accepts another question after the server refused a repeated question (skipped without chromium and the built page)', async () => {
    const { page, url } = await openPage();
    const refusal = { status: 403, json: { status: 403, code: 'access_denied', detail: 'this key may not enqueue' } };
    await page.route('**/v1/chat', (route) => route.fulfill(refusal));
    await page.route('**/v1/chat', (route) => route.abort(), { times: 1 });
    await page.goto(`${url}/#refused`);
    await page.locator('form input').fill('hi');
    await page.locator('form button[type=submit]').click();
    await page.locator('.failure', { hasText: 'access_denied' }).waitFor();
    await page.locator('form button[type=submit]').waitFor();
    expect(await page.locator('.user .text').allTextContents()).toEqual(['hi']);
  });
});
