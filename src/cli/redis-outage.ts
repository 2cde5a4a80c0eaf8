import { setTimeout as delay } from 'node:timers/promises';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { redactUrl } from '../local-redis/configured-redis.ts';
import { LocalRedisError } from '../local-redis/errors.ts';
import type { RedisLocation } from '../redis/address.ts';
import { readRedisAddress, showAddress } from '../redis/address.ts';
import { isRefusal, nameRedisError, refusalError } from '../redis/errors.ts';
import { findRefusal } from '../redis/find-refusal.ts';
import type { Output } from './output.ts';

/** Finds out whether Redis refuses this client. @returns the error with a remedy, or undefined */
export async function explainRefusal(location: RedisLocation): Promise<TurnfoldError | undefined> {
  const refusal = await findRefusal(location);
  return refusal && refusalError(refusal);
}

/** Replaces `redis_unavailable` by the refusal that caused it, or adds the names of the nodes. Other errors stay unchanged. */
export async function explainError(error: unknown, location: RedisLocation): Promise<unknown> {
  if (!isTurnfoldError(error, 'redis_unavailable')) return error;
  return (await explainRefusal(location)) ?? nameNodes(error, location.url);
}

/** One unreachable node says nothing about the others, so the error lists the whole address. */
function nameNodes(error: TurnfoldError, url: string): TurnfoldError {
  const address = readRedisAddress(url);
  if (address === undefined || address.kind === 'single') return error;
  return new TurnfoldError('redis_unavailable', `${error.message} (${showAddress(address)})`, { cause: error });
}

/** Default deadline of a client. A restart of Redis takes a second or two. */
export const COMMAND_WAIT_MS = 5_000;
/** A long-running process waits this long for Redis. Sentinels may take as long to replace a master. */
export const PROCESS_WAIT_MS = 30_000;
const PAUSE_MS = 250;

export interface RedisWait {
  readonly location: RedisLocation;
  readonly waitMs: number;
  readonly output: Output;
  /** Ends the wait with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/**
 * Retries `open` while Redis is unreachable, and says so once. A refusal (password, ACL, TLS, protected mode) is not retried.
 * @param open must leave no connection open when it fails
 * @throws the last error of `open`
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
