import type { OpenClient } from '../client/index.ts';
import { openClientAtOnce } from '../client/open-client.ts';
import type { Config } from '../config.ts';
import type { LocalRedis } from '../local-redis/local-redis.ts';
import { provideRedis } from '../local-redis/provide-redis.ts';
import { startWorkers, type Workers, type WorkersOptions } from '../runtime/start-workers.ts';
import { flushSpans } from '../telemetry/traces.ts';
import { listenForSignals, unlessInterrupted } from './interruption.ts';
import { checkNobodyElse } from './nobody-else.ts';
import { type Output, reportError } from './output.ts';
import { PROCESS_WAIT_MS, waitForRedis } from './wait-for-redis.ts';

/** Everything in one process: what a person needs to try turnfold. */
export interface AllInOne {
  readonly redis: LocalRedis;
  readonly workers: Workers;
  readonly client: OpenClient;
  /** aborts when a signal asks to stop; `use` is not waited for then */
  readonly interrupted: AbortSignal;
  /** from now on SIGINT is the handler's and stops nothing; undefined gives SIGINT back */
  readonly takeInterrupts: (handler: (() => void) | undefined) => void;
}

export interface AllInOneOptions extends Pick<WorkersOptions, 'agents' | 'policy' | 'shadow' | 'metrics' | 'onEvent'> {
  readonly config: Config;
  readonly output: Output;
}

/**
 * Opens a Redis (that of REDIS_URL, or one of its own), all workers and a client; closes them in turn, however `use` ends.
 * @throws invalid_config where others are at work in the given one; Interruption where a signal ended it
 */
export async function withAllInOne<T>(options: AllInOneOptions, use: (all: AllInOne) => Promise<T>): Promise<T> {
  const { config, output, ...parts } = options;
  const { redisUrl, redisTls, shards, queueShards, concurrency, shutdownMs } = config;
  const { interruption, interrupted, takeInterrupts, stopListening } = listenForSignals();
  void interruption.then(() => output.note('stopping; a second signal ends it at once'));
  const closers: (() => Promise<unknown>)[] = [];
  try {
    const wait: Wait = (open) => waitForGiven({ config, output, signal: interrupted }, open);
    const redis = await wait(() => provideRedis({ redisUrl, redisTls, log: output.note, signal: interrupted }));
    closers.unshift(() => redis.stop());
    const location = { url: redis.url, tls: redisTls };
    if (redis.source === 'given') await wait(() => checkNobodyElse(location, parts.agents, queueShards));
    const settings = { redisUrl: redis.url, redisTls, shards, queueShards };
    const workers = await startWorkers({ ...settings, ...parts, concurrency, shutdownMs, signal: interrupted });
    closers.unshift(() => workers.close());
    const client = await unlessInterrupted(
      wait(() => openClientAtOnce(settings)),
      interruption,
    );
    closers.unshift(() => client.close());
    const result = await unlessInterrupted(use({ redis, workers, client, interrupted, takeInterrupts }), interruption);
    interrupted.throwIfAborted(); // a prompt that was closed by it ends as after its last line
    return result;
  } finally {
    // One that fails must not leave the next undone.
    for (const close of closers) await close().catch((error: unknown) => reportError(output, error));
    await flushSpans();
    stopListening();
  }
}

type Wait = <T>(open: () => Promise<T>) => Promise<T>;

type WaitParts = Pick<AllInOneOptions, 'config' | 'output'> & { readonly signal: AbortSignal };

/** Waits for the Redis of REDIS_URL. One of our own is started, and needs no wait. */
async function waitForGiven<T>(
  { config: { redisUrl, redisTls }, ...parts }: WaitParts,
  open: () => Promise<T>,
): Promise<T> {
  if (!redisUrl) return await open();
  const location = { url: redisUrl, tls: redisTls };
  return await waitForRedis({ ...parts, location, waitMs: PROCESS_WAIT_MS }, open);
}
