import { existsSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from '../http/front-end-agent.ts';
import { PAGE_FOLDER, startChatServer } from './chat-server.ts';
import { findChromium, openBrowser } from './page-browser.ts';

const chromium = findChromium();

test.skipIf(chromium === undefined || !existsSync(PAGE_FOLDER))(
  'the page shows an answer that was neither in its first messages nor replayed (skipped without chromium and the built page)',
  async () => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    await fixture.startWorkers([createFrontEndAgent()]);
    const server = await startChatServer(fixture.client, 'guide');
    onTestFinished(async () => void (await server.close()));
    const browser = await openBrowser(chromium ?? '');
    onTestFinished(() => browser.close());
    const { client } = fixture;
    const { turn } = await client.enqueueTurn({
      conversation: 'missing',
      agent: 'guide',
      turn: 'asked.1',
      input: 'hi',
    });
    const { answer } = await client.result('missing', turn, { waitMs: 60_000 });

    const page = await browser.newPage();
    // The messages of a moment at which the turn was open. When the page asks for its stream, the turn is no longer active.
    const messages = [{ id: 'asked', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
    await page.route('**/v1/chat/missing', (route) => route.fulfill({ json: { id: 'missing', messages } }), {
      times: 1,
    });
    await page.route('**/v1/chat/missing/stream', (route) => route.fulfill({ status: 204 }));
    await page.goto(`${server.url}/#missing`);
    await page.locator('.assistant .text').waitFor();
    expect(await page.locator('.text').allTextContents()).toEqual(['hi', answer?.content]);
  },
);
