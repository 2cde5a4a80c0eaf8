import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isSettled, type TurnView } from '../../src/domain/turn.ts';
import { hasRedisServer, MortalRedis } from '../chaos/mortal-redis.ts';
import { Random } from '../setup/random.ts';
import { ChatPage } from './chat-page.ts';
import { AGENT, findDisorder, readLog, SHARDS, type ShownMessage } from './chat-run.ts';
import { type ChatServer, PAGE_FOLDER, startChatServer } from './chat-server.ts';
import { ChatWorkers } from './chat-workers.ts';
import { FaultyHttpProxy } from './faulty-http-proxy.ts';
import { findChromium, openBrowser } from './page-browser.ts';

/** `CHAT_TURNS=10000 npx vitest run --project faults test/chat` is the long run. */
const TURNS = Number(process.env['CHAT_TURNS'] ?? 500);
/** A turn whose worker was killed waits for its lease, so most pages wait while a few are answered. */
const PAGES = 12;
const WORKERS = 4;
/** A page then opens a new conversation, so that a long run costs as much for each turn as a short one. */
const TURNS_A_CONVERSATION = 25;
const FAULTS = { lost: 0.05, cut: 0.2, doubled: 0.1, delayed: 0.2 };
const KILL_MS = 1_000;
const RELOAD_MS = 2_000;
const REDIS_MS = 15_000;
const LOOK_MS = 100;
/** A busy machine takes minutes for what a quiet one does in a second. */
const STUCK_MS = 300_000;

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
const counts = { turns: 0, poisoned: 0, reloads: 0, restarts: 0 };

function describeRun(): string {
  return JSON.stringify({ ...counts, kills: workers.kills, ...proxy.counts });
}

beforeAll(async () => {
  if (missing.length > 0) return;
  redis = await MortalRedis.start();
  client = await openClient({ redisUrl: redis.url, shards: SHARDS, deadlineMs: 60_000 });
  workers = await ChatWorkers.start(redis.url, WORKERS);
  server = await startChatServer(client, AGENT);
  proxy = await FaultyHttpProxy.listen(server.url, FAULTS, random.fork());
  browser = await openBrowser(chromium ?? '');
});
afterAll(async () => {
  over.abort();
  await browser?.close();
  await proxy?.close();
  await server?.close();
  await client?.close();
  await workers?.stop();
  await redis?.stop();
});

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

/** Sends a message as a user does, again if neither the page nor the server has it, and waits until its turn is settled. */
async function ask(one: Talk, text: string): Promise<TurnView> {
  const { page, conversation } = one;
  for (let until = Date.now() + STUCK_MS; Date.now() < until; await page.nextChange(LOOK_MS)) {
    const message = page.findMessage(text);
    if (message === undefined) {
      if (page.messages !== undefined && !(await hasArrived(one, text))) await page.send(text);
      continue;
    }
    const view = await client.result(conversation, `${message}.1`, { waitMs: 5_000 }).catch(ignoreMissing);
    if (view !== undefined && isSettled(view.state)) return view;
  }
  const open = await client.openTurns(conversation).catch(ignoreMissing);
  const shown = page.messages?.slice(-3);
  throw new Error(`${text}: stuck for ${STUCK_MS} ms. ${JSON.stringify({ open, shown })} ${describeRun()}`);
}

/** Looks for a message in the order of its way, so that it cannot pass by unseen. */
async function hasArrived({ conversation }: Talk, text: string): Promise<boolean> {
  if (proxy.isPending(conversation)) return true;
  const open = await client.openTurns(conversation).catch(ignoreMissing);
  if (open !== undefined && open.turns.length > 0) return true;
  const log = await client.log(conversation).catch(ignoreMissing);
  return log?.some(({ message }) => message.content === text) === true;
}

function ignoreMissing(error: unknown): undefined {
  if (!isTurnfoldError(error, 'not_found')) throw error;
}

async function talk(one: Talk, turns: number): Promise<void> {
  const { page, conversation } = one;
  for (let turn = 1; turn <= turns; turn += 1) {
    const view = await ask(one, `${conversation}, turn ${turn}: ${random.between(1, 40)} words`);
    counts.turns += 1;
    // A turn whose workers were killed too often fails. Its page shows what is recorded.
    if (view.state !== 'completed') {
      expect(view).toMatchObject({ state: 'failed', failure: { code: 'poison' } });
      counts.poisoned += 1;
    }
    const log = await readLog(client, conversation);
    const questions = log.filter(({ role }) => role === 'user').length;
    if (questions !== turn) {
      const entries = (await client.log(conversation)).filter(({ message }) => message.role === 'user');
      const asked = entries.map(
        ({ at, turn: name, message }) => `${new Date(at).toISOString()} ${name} ${message.content}`,
      );
      throw new Error(
        [
          `${questions} questions in turn ${turn}`,
          ...asked.slice(-4),
          ...proxy.describePosts(conversation).slice(-8),
        ].join('\n'),
      );
    }
    const until = Date.now() + STUCK_MS;
    while (Date.now() < until && JSON.stringify(page.messages) !== JSON.stringify(log)) await page.nextChange(LOOK_MS);
    expect(page.messages, `${conversation}, turn ${turn}. ${describeRun()}`).toEqual(log);
    if (counts.turns % 100 === 0) process.stdout.write(`${describeRun()}\n`);
  }
}

/** Opens one conversation after the other in a page. */
async function talkOften(page: ChatPage, index: number, turns: number): Promise<void> {
  for (let begun = 0; begun < turns; begun += TURNS_A_CONVERSATION) {
    const conversation = `chat-${index}-${begun / TURNS_A_CONVERSATION}`;
    await page.show(conversation);
    await talk({ page, conversation }, Math.min(TURNS_A_CONVERSATION, turns - begun));
  }
}

/** Texts that came twice or out of order. A page may show them for a moment only. */
const disorders: string[] = [];
function noteDisorder(messages: readonly ShownMessage[]): void {
  for (const text of messages.flatMap(({ role, texts }) => (role === 'user' ? [] : texts))) {
    const disorder = findDisorder(text);
    if (disorder !== undefined) disorders.push(disorder);
  }
}

test.skipIf(missing.length > 0)(
  `the page shows the log after each turn, whatever dies (skipped without chromium, redis-server and the built page${missing.length > 0 ? `: missing ${missing.join(', ')}` : ''})`,
  async () => {
    // Tabs of one window: Chromium draws the frame of a window in a process of its own, which costs as much as the page.
    const window = await browser.newContext();
    // A browser opens six connections to a host, and each page keeps one open. So each page has a host of its own.
    const urls = Array.from({ length: PAGES }, (_, index) => proxy.url.replace('127.0.0.1', `page-${index}.localhost`));
    const pages = await Promise.all(urls.map((url) => ChatPage.open(window, url, noteDisorder)));
    // The other half never loads again, so its texts come from streams alone.
    const reloaded = pages.filter((_, index) => index % 2 === 0);
    const talks = pages.map((page, index) => talkOften(page, index, Math.ceil(TURNS / PAGES)));
    const faults = [
      repeat(KILL_MS, () => workers.kill(random)),
      ...reloaded.map((page) =>
        repeat(RELOAD_MS, () => {
          counts.reloads += 1;
          return page.reload(over.signal);
        }),
      ),
      repeat(REDIS_MS, async () => {
        counts.restarts += 1;
        await redis.kill();
        await redis.start();
      }),
    ];
    await Promise.all(talks);
    over.abort();
    await Promise.all(faults);
    expect(disorders).toEqual([]);
    expect(proxy.counts.cut, describeRun()).toBeGreaterThan(0);
    expect(proxy.counts.doubled, describeRun()).toBeGreaterThan(0);
    expect(workers.kills, describeRun()).toBeGreaterThan(0);
  },
  Math.max(900_000, 6_000 * TURNS),
);
