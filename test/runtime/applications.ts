import { Queue } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { ROLES, startWorkers, type Workers } from '../../src/host/start-workers.ts';
import { createTalker, talk } from '../client/fixture.ts';

/** An application on a shared Redis: a prefix, an agent that no other application has, and a Redis user. */
export interface Application {
  readonly prefix: string | undefined;
  readonly agent: string;
  /** Hash tag of its inbox. */
  readonly inbox: string;
  /** ACL rules of its Redis user: all that it may read, write and hear. */
  readonly rules: readonly string[];
  /** True for the name of a key of this application. */
  readonly owns: (key: string) => boolean;
}

/** The prefix `shop1` begins like `shop` with the number of a shard. The first application has no prefix. */
export const APPLICATIONS: readonly Application[] = [
  {
    prefix: undefined,
    agent: 'plain',
    inbox: '{tq0}',
    rules: ['~{tf*', '~{tq*', '&{tf*'],
    owns: (key) => /^\{t[fq]\d*\}:/.test(key),
  },
  ...['shop', 'shop1', 'A_b.c-9'].map((prefix) => ({
    prefix,
    agent: `agent.of.${prefix}`,
    inbox: `{${prefix}/tq0}`,
    rules: [`~{${prefix}/*`, `&{${prefix}/*`],
    owns: (key: string) => key.startsWith(`{${prefix}/`),
  })),
];

export interface RunningApplication {
  readonly client: OpenClient;
  readonly workers: Workers;
  readonly metricsUrl: string;
}

const SHARDS = 16;

/** Starts the workers and the client of an application. `urlOf` adds the login of its Redis user to the address. */
export async function startApplication(
  { prefix, agent }: Application,
  urlOf: (user: string) => string,
  closeLater: (close: () => Promise<unknown>) => void,
): Promise<RunningApplication> {
  const to = { redisUrl: urlOf(agent), prefix, shards: SHARDS };
  const workers = await startWorkers({
    ...to,
    agents: [{ ...createTalker(), name: agent } satisfies Agent],
    roles: ROLES,
    inbox: true,
    concurrency: { turn: 8, compaction: 2, summarization: 2 },
    shutdownMs: 2_000,
    metrics: { host: '127.0.0.1', port: 0 },
  });
  closeLater(() => workers.close());
  const client = await openClient(to);
  closeLater(() => client.close());
  return { client, workers, metricsUrl: workers.metricsUrl ?? '' };
}

const TURNS = 10;
const WAIT_MS = 60_000;

/** Uses every kind of key, with the same ids in each application. */
export async function useEverything({ agent }: Application, { client }: RunningApplication): Promise<void> {
  await client.webhooks.add({ tenant: '_', url: 'https://receiver.invalid/hook' });
  await client.keys.create({ tenant: '_', scopes: ['read'], name: agent });
  await client.append({ conversation: 'long', agent, messages: talk(12) });
  const passId = await client.compact('long');
  for (let turn = 0; turn < TURNS; turn += 1) {
    await client.enqueueTurn({ conversation: `c-${turn % 3}`, turn: `t-${turn}`, agent, input: `${agent} ${turn}` });
  }
  for (let turn = 0; turn < TURNS; turn += 1) {
    const view = await client.result(`c-${turn % 3}`, `t-${turn}`, { waitMs: WAIT_MS });
    expect(view).toMatchObject({ state: 'completed', answer: { content: `heard ${agent} ${turn}` } });
  }
  await client.enqueueTurn({ conversation: 'c-followed', turn: 'followed', agent, input: agent });
  const pieces: string[] = [];
  for await (const piece of client.stream('c-followed', 'followed')) pieces.push(JSON.stringify(piece));
  expect(pieces.join('')).toContain(agent);
  await client.enqueueTurn({ conversation: 'c-late', turn: 'late', agent, input: agent, delayMs: 3_600_000 });
  await client.enqueueTurn({ conversation: 'c-failed', turn: 'failed', agent, input: agent, deadlineMs: 1 });
  await client.enqueueTurn({ conversation: 'c-waits', turn: 'waits', agent, input: 'call risk' });
  await vi.waitFor(async () => expect((await client.result('c-waits', 'waits')).state).toBe('waiting'), WAIT_MS);
  await client.fork('c-0', 'c-fork');
  await vi.waitFor(async () => expect((await client.describe('long')).passId).not.toBe(passId), WAIT_MS);
}

/** Adds a turn of another language's service to the inbox of the application. */
export async function useInbox({ agent, inbox }: Application, running: RunningApplication, redis: Redis | Cluster) {
  const queue = new Queue('inbox', { connection: redis, prefix: inbox });
  await queue.add('turn', { conversation: 'c-inbox', turn: 'inbox', agent, input: agent });
  await vi.waitFor(async () => {
    const view = await running.client.result('c-inbox', 'inbox');
    expect(view).toMatchObject({ state: 'completed', answer: { content: `heard ${agent}` } });
  }, WAIT_MS);
  await queue.close();
}

/** Answers the waiting turn, lists and erases, and finds only what the application itself has made. */
export async function checkViews({ agent, prefix = 'tf' }: Application, running: RunningApplication): Promise<void> {
  const { client, metricsUrl } = running;
  const listed = (await client.conversations()).conversations;
  expect(new Set(listed.map((one) => one.agent))).toEqual(new Set([agent]));
  expect(listed).toHaveLength(10);
  expect((await client.waiting()).turns.map(({ turn }) => turn)).toEqual(['waits']);
  expect(await client.webhooks.list()).toHaveLength(1);
  expect((await client.keys.list()).map(({ name }) => name)).toEqual([agent]);
  const page = await (await fetch(metricsUrl)).text();
  const labels = new Set([...page.matchAll(/prefix="([^"]*)"/g)].map(([, label]) => label));
  expect([...labels]).toEqual(prefix === 'tf' ? [] : [prefix]);
  expect(Number(/^turnfold_turns_total\{[^}]*outcome="completed"[^}]*\} (\d+)/m.exec(page)?.[1])).toBe(TURNS + 2);
}

/** Lists all keys of a database. */
export async function listKeys(masters: readonly Redis[]): Promise<string[]> {
  const keys: string[] = [];
  for (const master of masters) {
    let cursor = '0';
    do {
      const [next, found] = await master.scan(cursor, 'COUNT', '1000');
      cursor = next;
      keys.push(...found);
    } while (cursor !== '0');
  }
  return keys;
}

/** Lists keys that do not belong to exactly one application. */
export function listStrays(keys: readonly string[]): string[] {
  return keys.filter((key) => APPLICATIONS.filter(({ owns }) => owns(key)).length !== 1);
}

/** Counts the keys of the store and of the queues of each application. */
export function countKeys(keys: readonly string[]): { readonly store: number; readonly queues: number }[] {
  return APPLICATIONS.map(({ owns }) => {
    const own = keys.filter(owns);
    const queues = own.filter((key) => /tq\d+\}:(turn|compaction|summarization|inbox):/.test(key));
    return { store: own.length - queues.length, queues: queues.length };
  });
}
