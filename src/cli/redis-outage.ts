import { setTimeout as delay } from 'node:timers/promises';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { redactUrl } from '../host/local-redis/configured-redis.ts';
import { findObstacle, isReply } from '../host/local-redis/connection.ts';
import { LocalRedisError } from '../host/local-redis/local-redis.ts';
import type { RedisLocation } from '../store/redis/address.ts';
import { readRedisAddress, showAddress } from '../store/redis/address.ts';
import { isRefusal, nameRedisError, refusalError } from '../store/redis/errors.ts';
import { findRefusal } from '../store/redis/find-refusal.ts';
import type { Output } from './output.ts';

/** @returns the error with advice if Redis refuses this client, e.g. because of its password */
export async function explainRefusal(location: RedisLocation): Promise<TurnfoldError | undefined> {
  const refusal = await findRefusal(location);
  return refusal && refusalError(refusal);
}

/** Replaces an outage error by the refusal that caused it, or adds the addresses of the nodes. */
export async function explainOutage(error: unknown, location: RedisLocation): Promise<unknown> {
  if (!isTurnfoldError(error, 'redis_unavailable')) return error;
  if (error.details?.['takesNoWrites'] === true) return error;
  return (await explainRefusal(location)) ?? (await explainObstacle(location)) ?? nameNodes(error, location.url);
}

/** Asks the server, because a lost connection does not say why. Undefined unless the server refuses connections. */
async function explainObstacle(location: RedisLocation): Promise<TurnfoldError | undefined> {
  const error = await findObstacle(location);
  return isReply(error) ? error : undefined;
}

/** Adds the addresses: with several nodes, the failure of one says nothing about the others. */
function nameNodes(error: TurnfoldError, url: string): TurnfoldError {
  const address = readRedisAddress(url);
  if (address === undefined || address.kind === 'single') return error;
  return new TurnfoldError('redis_unavailable', `${error.message} (${showAddress(address)})`, { cause: error });
}

/** How long a command waits for Redis. A restart of Redis takes a second or two. */
export const COMMAND_WAIT_MS = 5_000;
/** How long a process waits for Redis at its start. Sentinels may need this time to replace a master. */
export const PROCESS_WAIT_MS = 30_000;
const PAUSE_MS = 250;

interface RedisWait {
  readonly location: RedisLocation;
  readonly waitMs: number;
  readonly output: Output;
  /** Ends the wait, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Repeats `open` while Redis is unreachable. A refusal (password, ACL, TLS, protected mode) is not retried.
 * @param open must leave no connection open when it fails
 */
export async function waitForRedis<T>(
  { location, waitMs, output, signal }: RedisWait,
  open: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await open();
    } catch (error) {
      if (!isAway(error) || performance.now() >= until) throw error;
      if (isFirst) {
        if ((await findRefusal(location)) !== undefined) throw error;
        output.note(`the Redis at ${redactUrl(location.url)} does not answer, retrying for up to ${waitMs / 1_000} s`);
      }
      await delay(PAUSE_MS, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}

function isAway(error: unknown): boolean {
  if (error instanceof LocalRedisError) return error.code === 'redis_unreachable';
  const named = nameRedisError(error);
  return isTurnfoldError(named, 'redis_unavailable') && !isRefusal(named);
}
