import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { type ChatServer, startChatServer } from './chat-server.ts';
import { CUT_AGENT, createCutAgent } from './cuts/cut-agent.ts';
import { missing, say } from './open-page.ts';
import { findChromium, openBrowser } from './page-browser.ts';

const why = missing.length === 0 ? '' : `, missing: ${missing.join(', ')}`;
const note = `(skipped without chromium and the built page${why})`;

/** Reloads of each chat, at points that are spread over its changes. */
const POINTS = 6;
/** Pages at the same time. */
const LANES = 3;
const LOOK_MS = 20;

interface PageCase {
  readonly name: string;
  readonly text: string;
  /** Acts once the answer waits for a person. */
  readonly act?: (page: Page) => Promise<void>;
}

const press = (name: string) => async (page: Page) => await page.getByRole('button', { name }).click();

const CASES: readonly PageCase[] = [
  { name: 'a text', text: 'say a 8' },
  { name: 'reasoning', text: 'think a' },
  { name: 'a tool', text: 'call a look' },
  { name: 'two tools behind reasoning', text: 'think a look,paint' },
  { name: 'two rounds of tools', text: 'call a look+look' },
  { name: 'an approval that is allowed', text: 'call a book', act: press('Allow') },
  { name: 'an approval that is denied', text: 'think a book', act: press('Deny') },
  { name: 'a failure', text: 'fail a' },
  { name: 'a model that breaks off', text: 'break a' },
  { name: 'a model that breaks off behind reasoning', text: 'waver a' },
];

/** Runs in the page, and reports each change of the messages. */
const WATCH = `new MutationObserver(() => {
  if (document.querySelector('.messages') !== null) window.reportChange();
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });`;

/** Runs in the page. Describes the messages as a person sees them once they are complete, without times. */
const PICTURE = `(() => {
  const list = document.querySelector('.messages');
  if (list?.dataset.status !== 'ready') return undefined;
  return [...list.children].map((item) => {
    const copy = item.cloneNode(true);
    copy.querySelectorAll('.facts').forEach((facts) => facts.remove());
    return [item.className, ...[...copy.children].map((part) => part.tagName + '.' + part.className + ' ' + part.textContent)];
  });
})()`;

type Picture = readonly (readonly string[])[] | undefined;

interface Led {
  /** The messages as a person sees them at the end. */
  readonly picture: Picture;
  readonly changes: number;
  readonly isReloaded: boolean;
}

/** A browser page in which one person leads one chat after the other. */
class Lane {
  readonly #page: Page;
  readonly #url: string;
  #onChange = (): void => undefined;

  private constructor(page: Page, url: string) {
    this.#page = page;
    this.#url = url;
  }

  static async open(page: Page, url: string): Promise<Lane> {
    const lane = new Lane(page, url);
    await page.exposeFunction('reportChange', () => lane.#onChange());
    await page.addInitScript(WATCH);
    return lane;
  }

  /** Leads a chat to its end, and loads the page again when it has changed `point` times. */
  async lead(id: string, { text, act }: PageCase, point: number): Promise<Led> {
    const page = this.#page;
    await page.goto(`${this.#url}/#${id}`);
    await page.locator('.empty').waitFor();
    let changes = 0;
    let reload: Promise<unknown> | undefined;
    const accepted = page.waitForResponse(
      (response) => response.url().endsWith(`/${id}/messages`) && response.status() === 202,
    );
    await say(page, text);
    // A page that is loaded again before the server has the message loses the message, as any page does.
    await accepted;
    this.#onChange = () => {
      changes += 1;
      if (changes === point) reload ??= page.reload();
    };
    await act?.(page);
    await this.#see();
    this.#onChange = () => undefined;
    await reload;
    const picture = await this.#see();
    return { picture, changes, isReloaded: reload !== undefined };
  }

  /** Waits until the page shows a question and its complete answer. */
  async #see(): Promise<Picture> {
    for (;;) {
      // Undefined while the chat is not complete. The call fails while the page is being loaded.
      const picture = await this.#page.evaluate<Picture>(PICTURE).catch(() => undefined);
      if (picture?.length === 2) return picture;
      await sleep(LOOK_MS);
    }
  }
}

describe.skipIf(missing.length > 0)('reloads in Chromium', () => {
  let fixture: Fixture;
  let server: ChatServer;
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  let lanes: Lane[] = [];
  let chats = 0;
  let reloads = 0;

  beforeAll(async () => {
    fixture = await openFixture();
    await fixture.startWorkers([createCutAgent()]);
    server = await startChatServer(fixture.client, CUT_AGENT);
    browser = await openBrowser(findChromium() ?? '');
    lanes = await Promise.all(
      Array.from({ length: LANES }, async () => await Lane.open(await browser.newPage(), server.url)),
    );
  });
  afterAll(async () => {
    process.stdout.write(`${JSON.stringify({ reloads })}\n`);
    await browser.close();
    await server.close();
    await fixture.close();
  });

  test.for(CASES)(`a reload at any of ${POINTS} points of $name changes nothing in the page ${note}`, async (one) => {
    const [first] = lanes;
    if (first === undefined) return;
    const nextId = (): string => `page-cut-${++chats}`;
    const { picture, changes } = await first.lead(nextId(), one, 0);
    const points = Array.from({ length: POINTS }, (_, at) => 1 + Math.floor((at * changes) / POINTS)).values();
    const others: (Led & { readonly point: number })[] = [];
    const runLane = async (lane: Lane): Promise<void> => {
      for (const point of points) others.push({ point, ...(await lane.lead(nextId(), one, point)) });
    };
    await Promise.all(lanes.map(runLane));
    expect(others).toHaveLength(POINTS);
    reloads += others.filter(({ isReloaded }) => isReloaded).length;
    expect(others.filter((other) => JSON.stringify(other.picture) !== JSON.stringify(picture))).toEqual([]);
  });
});
