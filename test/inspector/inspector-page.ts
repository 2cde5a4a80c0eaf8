import { rm } from 'node:fs/promises';
import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import type { OpenClient } from '../../src/api/client/index.ts';
import { createHttpApp, type HttpApp, type HttpAppOptions } from '../../src/api/http/index.ts';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { withPage } from '../../src/api/http/static-page.ts';
import { findChromium, openBrowser } from '../chat/page-browser.ts';
import { buildInspector } from './built-inspector.ts';

export const chromium = findChromium();

/** One built page and one browser for the tests of a file. */
export function useInspector(): { readonly open: (client: OpenClient, options?: OpenOptions) => Promise<OpenedPage> } {
  let folder = '';
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (chromium === undefined) return;
    folder = await buildInspector();
    browser = await openBrowser(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    open: (client, options) => {
      if (browser === undefined) throw new Error('the browser has not started');
      return openPage(client, { browser, folder, ...options });
    },
  };
}

interface OpenOptions {
  readonly app?: Partial<HttpAppOptions>;
  /** Messages of the browser that a page of others may cause. */
  readonly allowed?: RegExp;
  /** Serves more than the page and its routes. */
  readonly wrap?: (answer: HttpApp['fetch']) => HttpApp['fetch'];
  readonly context?: BrowserContextOptions;
}

export interface OpenedPage {
  readonly page: Page;
  readonly url: string;
  /** Opens a hash, e.g. `/c/shop`. */
  readonly go: (place: string) => Promise<void>;
  /** Paths of the requests since the last call. */
  readonly takeRequests: () => string[];
}

async function openPage(
  client: OpenClient,
  {
    browser,
    folder,
    app: options,
    wrap = (answer) => answer,
    allowed,
    context,
  }: OpenOptions & { readonly browser: Browser; readonly folder: string },
): Promise<OpenedPage> {
  const app = createHttpApp({ client, authenticate: 'none', isReadOnly: true, ...options });
  const fetch = wrap(withPage(folder, app.fetch));
  const server = await serveHttp({ app: { fetch, close: () => app.close() }, host: '127.0.0.1', port: 0 });
  onTestFinished(async () => void (await server.close(1_000)));
  const opened = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...context });
  onTestFinished(() => opened.close());
  const page = await opened.newPage();
  const [requests, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', ({ message }) => complaints.push(message));
  // E.g. a refusal by the content security policy. A status such as 401 is no fault of the page.
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text());
    }
  });
  onTestFinished(() => {
    expect(complaints.filter((complaint) => allowed?.test(complaint) !== true)).toEqual([]);
    expect(requests.filter((requested) => !requested.startsWith(`${server.url}/`))).toEqual([]);
  });
  return {
    page,
    url: server.url,
    go: async (place) => void (await page.goto(`${server.url}/#${place}`)),
    takeRequests: () => requests.splice(0).map((requested) => requested.slice(server.url.length)),
  };
}

export interface HeldAnswer {
  /** Resolves once the server has answered. */
  readonly isHeld: Promise<void>;
  /** Gives the answer to the page, or another one. */
  readonly release: (other?: { readonly status: number; readonly json: object }) => void;
}

/** Keeps back the answer to the next request with this path. The page gets it as it was then. */
export async function holdAnswer(page: Page, path: string): Promise<HeldAnswer> {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<Parameters<HeldAnswer['release']>[0]>();
  const handle = async (route: Route): Promise<void> => {
    const response = await route.fetch();
    held.resolve();
    const other = await released.promise;
    await route.fulfill(other ?? { response });
  };
  await page.route(path, handle, { times: 1 });
  return { isHeld: held.promise, release: (other) => released.resolve(other) };
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Rules of accessibility that the page breaks, each with the elements. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
