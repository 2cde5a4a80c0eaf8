import { existsSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { openFixture } from '../client/fixture.ts';
import { PAGE_FOLDER, startChatServer } from './chat-server.ts';
import { findChromium, openBrowser } from './page-browser.ts';

const chromium = findChromium();

/** Why the tests of the page are skipped. Empty if all that they need is there. */
export const missing = [
  ...(chromium === undefined ? ['chromium'] : []),
  ...(existsSync(PAGE_FOLDER) ? [] : ['npm run build --prefix examples/chat']),
];

export interface OpenPage {
  readonly client: TurnfoldClient;
  readonly page: Page;
  readonly url: string;
  /** Opens another tab of the same browser. */
  readonly newPage: (options?: BrowserContextOptions) => Promise<Page>;
}

/** Opens the example page about an agent, with a worker, for the duration of a test. */
export async function openPage(agent: Agent, options?: BrowserContextOptions): Promise<OpenPage> {
  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  await fixture.startWorkers([agent]);
  const server = await startChatServer(fixture.client, agent.name);
  onTestFinished(async () => void (await server.close()));
  const browser = await openBrowser(chromium ?? '');
  onTestFinished(() => browser.close());
  const newPage = async (others?: BrowserContextOptions) => await browser.newPage(others ?? options);
  return { client: fixture.client, page: await newPage(), url: server.url, newPage };
}

/** Writes a message into the page and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.locator('form textarea').fill(text);
  await page.locator('form textarea').press('Enter');
}

/** Keeps a picture of the page if PAGE_PICTURES names a folder, so that a person can look at it. */
export async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env['PAGE_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
}
