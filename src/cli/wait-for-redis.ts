import { setTimeout as delay } from 'node:timers/promises';
import { isTurnfoldError } from '../domain/errors.ts';
import { LocalRedisError } from '../local-redis/errors.ts';
import { redactUrl } from '../local-redis/given.ts';
import type { RedisLocation } from '../redis/address.ts';
import { isRefusal, nameRedisError } from '../redis/errors.ts';
import { findRefusal } from '../redis/find-refusal.ts';
import type { Output } from './output.ts';

/** As long as a client tries: a restart of Redis takes a second or two. */
export const COMMAND_WAIT_MS = 5_000;
/** For a process that goes on for long. Sentinels may take this long to replace a master. */
export const PROCESS_WAIT_MS = 30_000;
const PAUSE_MS = 250;

export interface RedisWait {
  readonly location: RedisLocation;
  readonly waitMs: number;
  readonly output: Output;
  /** ends the wait with its reason */
  readonly signal?: AbortSignal;
}

/**
 * Opens something over Redis, again and again while Redis is away, and says once that it waits. A Redis that refuses us (password,
 * ACL, TLS, protected mode) is not waited for.
 * @param open leaves nothing open when it fails
 * @throws what `open` threw last
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
        output.note(
          `waiting up to ${waitMs / 1_000} s for the Redis at ${redactUrl(location.url)}, which does not answer`,
        );
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
