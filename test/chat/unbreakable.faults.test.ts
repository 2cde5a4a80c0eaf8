import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/client/index.ts';
import { hasRedisServer, MortalRedis } from '../chaos/mortal-redis.ts';
import { Random } from '../setup/random.ts';
import { ChatPage } from './chat-page.ts';
import { AGENT, ChatWorkers, findDisorder, readLog, SHARDS } from './chat-run.ts';
import { type ChatServer, PAGE_FOLDER, startChatServer } from './chat-server.ts';
import { FaultyHttpProxy } from './faulty-http-proxy.ts';
import { findChromium, openBrowser } from './page-browser.ts';

/** `CHAT_TURNS=10000 npx vitest run --project faults test/chat` is the long run. */
const TURNS = Number(process.env['CHAT_TURNS'] ?? 16);
const PAGES = 4;
const WORKERS = 2;
const FAULTS = { lost: 0.05, cut: 0.2, doubled: 0.1, delayed: 0.2 };
const KILL_MS = 3_000;
const RELOAD_MS = 2_000;
const REDIS_MS = 15_000;
const LOOK_MS = 50;
const SOON = { timeout: 120_000, interval: LOOK_MS };

const chromium = findChromium();
const missing = [
  ...(hasRedisServer ? [] : ['redis-server']),
  ...(chromium === undefined ? ['chromium'] : []),
  ...(existsSync(PAGE_FOLDER) ? [] : ['npm run build --prefix examples/chat']),
];

let redis: MortalRedis;
let client: OpenClient;
let workers: ChatWorkers;
let server: ChatServer;
let proxy: FaultyHttpProxy;
let browser: Browser;
const random = new Random(20_261_125);
/** Aborts when the faults have to stop. */
const over = new AbortController();

beforeAll(async () => {
  if (missing.length > 0) return;
  redis = await MortalRedis.start();
  client = await openClient({ redisUrl: redis.url, shards: SHARDS, deadlineMs: 60_000 });
  workers = await ChatWorkers.start(redis.url, WORKERS);
  server = await startChatServer(client, AGENT);
  proxy = await FaultyHttpProxy.listen(server.url, FAULTS, random.fork());
  browser = await openBrowser(chromium ?? '');
}, 60_000);
afterAll(async () => {
  over.abort();
  await browser?.close();
  await proxy?.close();
  await server?.close();
  await client?.close();
  await workers?.stop();
  await redis?.stop();
}, 60_000);

/** Repeats a fault until the test is over. */
async function repeat(everyMs: number, inject: () => unknown): Promise<void> {
  while (!over.signal.aborted) {
    await sleep(everyMs);
    if (!over.signal.aborted) await inject();
  }
}

interface Talk {
  readonly page: ChatPage;
  readonly conversation: string;
}

/** Sends a message as a user does: again if neither the page nor the server has it. */
async function send({ page, conversation }: Talk, text: string): Promise<string> {
  for (;;) {
    const entry = (await client.log(conversation).catch(() => [])).find(({ message }) => message.content === text);
    if (entry?.turn !== undefined) return entry.turn;
    const shown = await page.read();
    const isShown = shown?.some(({ texts }) => texts.includes(text)) !== false;
    const isQueued = await client.openTurns(conversation).then(
      ({ turns }) => turns.length > 0,
      () => false,
    );
    if (!isShown && !isQueued && !proxy.isPending(conversation)) await page.send(text);
    await sleep(LOOK_MS);
  }
}

async function talk(one: Talk, turns: number): Promise<void> {
  const { page, conversation } = one;
  for (let turn = 1; turn <= turns; turn += 1) {
    const id = await send(one, `turn ${turn}: ${random.between(1, 40)} words`);
    for (;;) {
      for (const { texts } of (await page.read()) ?? [])
        expect(texts.map(findDisorder)).toEqual(texts.map(() => undefined));
      const view = await client.result(conversation, id, { waitMs: 100 });
      if (view.settledAt === undefined) continue;
      // A turn whose workers were killed too often fails. Its page shows what is recorded.
      if (view.state !== 'completed') expect(view).toMatchObject({ state: 'failed', failure: { code: 'poison' } });
      break;
    }
    const log = await readLog(client, conversation);
    expect(
      log.filter(({ role }) => role === 'user'),
      'no turn twice',
    ).toHaveLength(turn);
    await expect.poll(() => page.read(), { ...SOON, message: `${conversation}, turn ${turn}` }).toEqual(log);
  }
}

test.skipIf(missing.length > 0)(
  `the page shows the log after each turn, whatever dies (skipped without chromium, redis-server and the built page${missing.length > 0 ? `: missing ${missing.join(', ')}` : ''})`,
  async () => {
    const talks = await Promise.all(
      Array.from({ length: PAGES }, async (_, index): Promise<Talk> => {
        const conversation = `chat-${index}`;
        return { conversation, page: await ChatPage.open(browser, `${proxy.url}/#${conversation}`) };
      }),
    );
    // The other half never loads again, so its texts come from streams alone.
    const reloaded = talks.filter((_, index) => index % 2 === 0);
    const faults = [
      repeat(KILL_MS, () => workers.kill(random)),
      repeat(RELOAD_MS, () => Promise.all(reloaded.map(({ page }) => page.reload()))),
      repeat(REDIS_MS, async () => {
        await redis.kill();
        await redis.start();
      }),
    ];
    await Promise.all(talks.map((one) => talk(one, Math.ceil(TURNS / PAGES))));
    over.abort();
    await Promise.all(faults);
    expect(proxy.counts.cut).toBeGreaterThan(0);
    expect(proxy.counts.doubled).toBeGreaterThan(0);
    expect(workers.kills).toBeGreaterThan(0);
  },
  Math.max(600_000, 3_000 * TURNS),
);
