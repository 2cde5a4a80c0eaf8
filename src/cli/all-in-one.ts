import type { OpenClient } from '../api/client/index.ts';
import { openClientAtOnce } from '../api/client/open-client.ts';
import type { Agent } from '../domain/agent.ts';
import { fieldError, type TurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { PolicyInput } from '../domain/policy.ts';
import type { Config } from '../host/config.ts';
import { findActiveWork } from '../host/health/inspect-database.ts';
import type { LocalRedis } from '../host/local-redis/local-redis.ts';
import { SOURCES } from '../host/local-redis/local-redis.ts';
import { provideRedis } from '../host/local-redis/provide-redis.ts';
import { startWorkers, type Workers } from '../host/start-workers.ts';
import type { RedisLocation } from '../store/redis/address.ts';
import { flushSpans } from '../telemetry/traces.ts';
import { DEMO_PREFIX } from './demo/demo-agent.ts';
import { listenForSignals, unlessInterrupted } from './interruption.ts';
import { type Output, reportError } from './output.ts';
import { PROCESS_WAIT_MS, waitForRedis } from './redis-outage.ts';
import { tenantFlag } from './turn-text.ts';

interface AllInOne {
  readonly redis: LocalRedis;
  readonly workers: Workers;
  readonly client: OpenClient;
  /** Aborts at SIGTERM or SIGINT. Then `withAllInOne` closes everything, and does not wait for `use`. */
  readonly interrupted: AbortSignal;
  /** Sends SIGINT to the handler instead of stopping the process. `undefined` restores the default. */
  readonly takeInterrupts: (handler: (() => void) | undefined) => void;
}

interface AllInOneOptions {
  readonly config: Config;
  readonly output: Output;
  readonly agents: readonly Agent[];
  readonly agentsModule?: string | undefined;
  readonly policy?: PolicyInput;
  readonly shadow?: PolicyInput;
  readonly metrics?: { readonly host: string; readonly port: number };
  readonly onEvent?: EventListener;
}

/** @throws invalid_config if other processes use that Redis, Interruption after a signal */
export async function withAllInOne<T>(options: AllInOneOptions, use: (all: AllInOne) => Promise<T>): Promise<T> {
  const { config, output, ...parts } = options;
  const { redisUrl, redisTls, prefix, shards, queueShards, concurrency, shutdownMs } = config;
  const { interruption, interrupted, takeInterrupts, stopListening } = listenForSignals();
  void interruption.then(() => output.note('stopping (a second signal ends the process at once)'));
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const wait: Wait = (open) => waitForConfigured({ config, output, signal: interrupted }, open);
    const redis = await wait(() =>
      provideRedis({ redisUrl, redisTls, sources: SOURCES, log: output.note, signal: interrupted }),
    );
    closers.unshift(() => redis.stop());
    const location = { url: redis.url, tls: redisTls, prefix };
    if (redis.source === 'configured') await wait(() => checkExclusiveUse(location, parts.agents, queueShards));
    const settings = { redisUrl: redis.url, redisTls, prefix, shards, queueShards };
    // No other workers use this Redis, so none can bring a missing agent.
    const alone = { missingAgentMs: 0, signal: interrupted };
    const workers = await startWorkers({ ...settings, ...parts, concurrency, shutdownMs, ...alone });
    closers.unshift(() => workers.close());
    const client = await unlessInterrupted(
      wait(() => openClientAtOnce(settings)),
      interruption,
    );
    closers.unshift(() => client.close());
    const result = await unlessInterrupted(use({ redis, workers, client, interrupted, takeInterrupts }), interruption);
    interrupted.throwIfAborted(); // A signal closes the prompt, and `use` then returns as at the end of the input.
    return result;
  } finally {
    for (const close of closers) await close().catch((error: unknown) => reportError(output, error));
    await flushSpans();
    stopListening();
  }
}

type Wait = <T>(open: () => Promise<T>) => Promise<T>;

interface ConfiguredWait {
  readonly config: Config;
  readonly output: Output;
  readonly signal: AbortSignal;
}

async function waitForConfigured<T>(
  { config: { redisUrl, redisTls, prefix }, ...parts }: ConfiguredWait,
  open: () => Promise<T>,
): Promise<T> {
  if (!redisUrl) return await open();
  const location = { url: redisUrl, tls: redisTls, prefix };
  return await waitForRedis({ ...parts, location, waitMs: PROCESS_WAIT_MS }, open);
}

/**
 * A worker fails the turns of agents that it does not know. Turns of an interrupted demo are ignored: no caller waits.
 */
async function checkExclusiveUse(
  location: RedisLocation,
  agents: readonly Agent[],
  queueShards: number,
): Promise<void> {
  const others = await findActiveWork(location, queueShards);
  const known = agents.map(({ name }) => name);
  const foreign = [...others.agents].filter(([agent]) => !known.includes(agent) && !agent.startsWith(DEMO_PREFIX));
  if (foreign[0] !== undefined) {
    const names = foreign.map(([agent]) => agent).join(', ');
    const why = `the database has turns for ${names}. This process does not know that agent and would fail those turns`;
    throw refuse(why, ` To see what waits, run: ${describeCommand(foreign[0][1])}`);
  }
  if (others.turnWorkers === 0) return;
  throw refuse(
    `${others.turnWorkers} other turn workers are connected. They and this process would take each other's turns`,
  );
}

function describeCommand({ tenant, id }: ConversationRef): string {
  return `turnfold describe ${id}${tenantFlag(tenant)}`;
}

function refuse(why: string, hint = ''): TurnfoldError {
  const remedy = 'Use another prefix (--prefix), Redis or database, or unset REDIS_URL to start a temporary Redis.';
  return fieldError('invalid_config', 'REDIS_URL', `${why}. ${remedy}${hint}`);
}
