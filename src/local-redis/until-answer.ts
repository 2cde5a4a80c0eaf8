import { setTimeout as delay } from 'node:timers/promises';
import type { RedisLocation } from '../domain/redis-tls.ts';
import { findRefusal } from '../redis/refusal.ts';
import { pingMasters, withConnection } from './connection.ts';

const PAUSE_MS = 500;
const PING_TIMEOUT_MS = 1_000;

/** Asks a Redis, however it is run, until it answers, however long it is away or refuses us; the pauses between do not keep a process. */
export async function untilAnswer(location: RedisLocation): Promise<void> {
  // Apart, for ioredis would print at each try that it takes no password.
  while (await findRefusal(location)) await delay(PAUSE_MS, undefined, { ref: false });
  while (!(await doesAnswer(location))) await delay(PAUSE_MS, undefined, { ref: false });
}

async function doesAnswer(location: RedisLocation): Promise<boolean> {
  try {
    await withConnection(location, PING_TIMEOUT_MS, pingMasters);
    return true;
  } catch {
    return false;
  }
}
