import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { isSettled, type TurnView } from '../../src/domain/turn.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { ROLES, startWorkers, type WorkerRole, type Workers } from '../../src/host/start-workers.ts';
import { type QueueName, queuePrefix } from '../../src/jobs/queues.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { words } from './agents.ts';

/** Few shards make a sweep fast. */
export const SHARDS = 4;

const PAUSE_MS = 50;

export interface RunningWorkers extends Workers {
  /** Events of the workers, oldest first. */
  readonly events: WorkerEvent[];
}

export interface StartOptions {
  readonly roles?: readonly WorkerRole[];
  readonly metricsPort?: number;
  readonly shadow?: PolicyInput;
  readonly tracesContent?: boolean;
  readonly queueShards?: number;
}

/** A Redis of its own, a client, and workers as in production. */
export interface Fixture {
  readonly redisUrl: string;
  readonly redis: Redis;
  readonly client: OpenClient;
  startWorkers(agent: Agent, options?: StartOptions): Promise<RunningWorkers>;
  /** Closes all workers of the fixture, then starts these. */
  useWorkers(agent: Agent, options?: StartOptions): Promise<RunningWorkers>;
  closeWorkers(): Promise<void>;
  enqueue(conversation: string, turn: string, input: string, agent?: string): Promise<unknown>;
  /** Appends parts of a user message and two long answers, then a short end. A pass can summarize each part. */
  appendSequences(conversation: string, options?: { readonly parts?: number; readonly tokens?: number }): Promise<void>;
  /** Waits until the conversation has this version and no open pass. */
  untilCompacted(conversation: string, version?: number): Promise<void>;
  /** Starts workers in a process that kills itself at the first event of a type. */
  spawnMortal(roles: readonly WorkerRole[], dieAt: WorkerEvent['type']): Promise<ChildProcess>;
  /** Opens a queue by BullMQ alone, to count or lose its jobs. */
  openRaw(name: QueueName): Queue;
  /** Closes everything in reverse order of opening. */
  close(): Promise<void>;
}

/**
 * A Redis for each fixture. Workers take all work of a database, so a shared one would mix the turns of several
 * files.
 */
export async function openFixture(): Promise<Fixture> {
  const server = await provideRedis(readRedisSource());
  const closers: (() => Promise<unknown>)[] = [() => server.stop()];
  const later = (close: () => Promise<unknown>): void => void closers.push(close);
  const redisUrl = server.url;
  const redis = new Redis(redisUrl);
  later(() => redis.quit());
  const client = await openClient({ redisUrl, shards: SHARDS });
  later(() => client.close());
  let started: Workers[] = [];
  const closeWorkers = async (): Promise<void> => {
    await Promise.all(started.map((workers) => workers.close()));
    started = [];
  };
  later(closeWorkers);
  const fixture: Fixture = {
    redisUrl,
    redis,
    client,
    async startWorkers(agent, { roles = ROLES, metricsPort, shadow, tracesContent = false, queueShards = 1 } = {}) {
      const events: WorkerEvent[] = [];
      const workers = await startWorkers({
        redisUrl,
        agents: [agent],
        roles,
        shards: SHARDS,
        queueShards,
        concurrency: { turn: 8, compaction: 4, summarization: 4 },
        shutdownMs: 5_000,
        missingAgentMs: 0,
        onEvent: (event) => events.push(event),
        tracesContent,
        ...(shadow && { shadow }),
        ...(metricsPort !== undefined && { metrics: { host: '127.0.0.1', port: metricsPort } }),
      });
      started.push(workers);
      return { ...workers, events };
    },
    async useWorkers(agent, options) {
      await closeWorkers();
      return await fixture.startWorkers(agent, options);
    },
    closeWorkers,
    enqueue: (conversation, turn, input, agent = 'guide') => client.enqueueTurn({ conversation, turn, agent, input }),
    async appendSequences(conversation, { parts = 4, tokens = 300 } = {}) {
      const user = { role: 'user' as const, content: words(10) };
      const answerOf = (content: string) => ({ role: 'assistant' as const, content });
      const sequences = Array.from({ length: parts }, (_, part) => {
        const answer = answerOf(`I will look at src/part-${part}.ts. ${words(tokens)}`);
        return [user, answer, answer];
      });
      await client.append({ conversation, agent: 'guide', messages: [...sequences.flat(), user, answerOf('done')] });
    },
    async untilCompacted(conversation, version = 1) {
      await eventually(
        () => client.describe(conversation),
        (state) => expect([state.size.version, state.passId]).toEqual([version, undefined]),
      );
    },
    async spawnMortal(roles, dieAt) {
      const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
      const child = spawn(process.execPath, [script, redisUrl, roles.join(','), dieAt], { stdio: 'inherit' });
      later(async () => void child.kill('SIGKILL'));
      return child;
    },
    openRaw(name) {
      const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
      const queue = new Queue(name, { connection, prefix: queuePrefix(0) });
      later(async () => {
        await queue.close();
        connection.disconnect();
      });
      return queue;
    },
    async close() {
      for (const close of closers.toReversed()) await close();
    },
  };
  return fixture;
}

/** Waits until the process has killed itself. */
export async function untilDead(child: ChildProcess): Promise<void> {
  if (child.signalCode === null && child.exitCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
}

/** Waits until the turn is settled. */
export async function settled(
  { client }: Fixture,
  conversation: string,
  turn: string,
  waitMs = 60_000,
): Promise<TurnView> {
  const view = await client.result(conversation, turn, { waitMs });
  if (!isSettled(view.state)) throw new Error(`${conversation}/${turn} is ${view.state} after ${waitMs} ms`);
  return view;
}

/** Polls until the check passes. After the deadline the last failure is thrown. */
export async function eventually<T>(read: () => Promise<T> | T, check: (seen: T) => void, ms = 60_000): Promise<T> {
  const deadline = Date.now() + ms;
  for (;;) {
    const seen = await read();
    try {
      check(seen);
      return seen;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await setTimeout(PAUSE_MS);
  }
}

export function eventsOf<Type extends WorkerEvent['type']>(
  { events }: RunningWorkers,
  type: Type,
  conversation?: string,
): Extract<WorkerEvent, { type: Type }>[] {
  return events.filter(
    (event): event is Extract<WorkerEvent, { type: Type }> =>
      event.type === type &&
      (conversation === undefined || ('conversation' in event && event.conversation === conversation)),
  );
}
