import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type AppendInput, type ConversationName, type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { ROLES, startWorkers } from '../../src/host/start-workers.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { machineFactor } from '../setup/machine-factor.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { openOverHttp } from './over-http.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Client that the fixture opens. */
    clientKind: 'redis' | 'http';
  }
}

/** True in the project that runs the tests of the client over HTTP. Its server has no keys, so it has one tenant. */
export function isOverHttp(): boolean {
  return inject('clientKind') === 'http';
}

/** Few, so that a sweep is small. */
export const SHARDS = 4;

export interface Fixture {
  readonly url: string;
  readonly client: OpenClient;
  /** Connection for commands that the client does not have. */
  readonly redis: Redis;
  openClient(url?: string): Promise<OpenClient>;
  startWorkers(
    agents?: readonly Agent[],
    options?: { readonly inbox?: boolean; readonly webhooks?: { readonly allowPrivate: boolean } },
  ): Promise<void>;
  close(): Promise<void>;
}

/**
 * A Redis for each test file. Workers take all work of a database, so a shared one would mix the turns of several
 * files.
 */
export async function openFixture(): Promise<Fixture> {
  const server = await provideRedis(readRedisSource());
  const closers: (() => Promise<unknown>)[] = [() => server.stop()];
  const open = async (redisUrl = server.url): Promise<OpenClient> => {
    const client = await openClient({ redisUrl, shards: SHARDS });
    closers.push(() => client.close());
    if (!isOverHttp()) return client;
    const { overHttp, close } = await openOverHttp(client);
    closers.push(close);
    return overHttp;
  };
  const redis = new Redis(server.url);
  closers.push(() => redis.quit());
  return {
    url: server.url,
    client: await open(),
    redis,
    openClient: open,
    async startWorkers(agents = [createTalker()], { inbox = false, webhooks } = {}) {
      const workers = await startWorkers({
        redisUrl: server.url,
        agents,
        roles: ROLES,
        shards: SHARDS,
        queueShards: 1,
        inbox,
        ...(webhooks && { webhooks }),
        concurrency: { turn: 8, compaction: 4, summarization: 4 },
        shutdownMs: 2_000,
        missingAgentMs: 0,
      });
      closers.push(() => workers.close());
    },
    async close() {
      for (const close of closers.toReversed()) await close();
    },
  };
}

const DONE = Promise.resolve();
const input = z.object({});

/** An agent. The input `call a,b` calls the tools a and b, and `hold` is answered once `gate` resolves. */
export function createTalker(gate: Promise<void> = DONE): Agent {
  return {
    name: 'talker',
    system: 'You talk.',
    policy: {},
    tools: [
      { name: 'echo', description: 'runs in the worker', input, run: async () => 'echoed' },
      { name: 'ask', description: 'runs elsewhere', input },
      { name: 'risk', description: 'has to be allowed', input, needsApproval: true, run: async () => 'risked' },
    ],
    model: scriptedModel({ decide: (request) => decide(request, gate) }),
  };
}

function decide({ messages }: ModelRequest, gate: Promise<void>): ScriptedOutcome {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  if (results.length > 0) return { content: results.map(({ content }) => content).join(' | ') };
  const text = messages[asked]?.content ?? '';
  if (text === 'hold') return gate.then(() => ({ content: 'released' }));
  const names = /^call (.+)$/.exec(text)?.[1]?.split(',') ?? [];
  if (names.length > 0) return { toolCalls: names.map((name) => ({ name, arguments: {} })) };
  return { content: `heard ${text}` };
}

/** Turns with two long answers each. The answers behind a user message are a sequence that a pass summarizes. */
export function talk(turns: number, from = 1): AppendInput['messages'] {
  return Array.from({ length: turns }, (_, index) => index + from).flatMap((turn) => [
    { role: 'user' as const, content: `question ${turn}` },
    { role: 'assistant' as const, content: `thought ${turn} ${'and so on '.repeat(150)}` },
    { role: 'assistant' as const, content: `answer ${turn} ${'and so forth '.repeat(150)}` },
  ]);
}

/** Requests a pass and waits for its end. */
export async function compact({ client }: Fixture, conversation: ConversationName): Promise<void> {
  const passId = await client.compact(conversation);
  await vi.waitFor(async () => expect((await client.describe(conversation)).passId).not.toBe(passId), 60_000);
}

/** Makes version 1 at seq 24, version 2 at seq 48, and a message behind them. */
export async function makeVersions(fixture: Fixture, conversation: string): Promise<void> {
  for (const from of [1, 9]) {
    await fixture.client.append({ conversation, agent: 'talker', messages: talk(8, from) });
    await compact(fixture, conversation);
  }
  await fixture.client.append({ conversation, agent: 'talker', messages: [{ role: 'user', content: 'the last' }] });
}

/** A Redis process that the test may freeze and kill. The suite is skipped if none can be started. */
export async function startOwnRedis(skip: (why: string) => never): Promise<{ url: string; pid: number }> {
  const redis = await provideRedis({ sources: ['path', 'package'] }).catch((error: Error) => error);
  if (redis instanceof Error) return skip(redis.message);
  onTestFinished(() => redis.stop());
  if (redis.pid === undefined) throw new Error('not a process of this machine');
  return { url: redis.url, pid: redis.pid };
}

/** Error of a call, and whether it came in time. A client that does not fail fast tries for 5 s. */
export async function failureOf(call: () => Promise<unknown>): Promise<{ error: unknown; isInTime: boolean }> {
  const startedAt = performance.now();
  const error = await call().then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  return { error, isInTime: performance.now() - startedAt < 4_000 * machineFactor() };
}
