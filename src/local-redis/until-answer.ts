import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { checkAccess } from '../redis/access.ts';
import type { RedisLocation } from '../redis/address.ts';
import { nameRedisError } from '../redis/errors.ts';
import { findRefusal } from '../redis/find-refusal.ts';
import { proveAllWrites, withConnection } from './connection.ts';

const PAUSE_MS = 500;
const ANSWER_MS = 1_000;

/**
 * Asks a Redis, however it is run, until it takes writes, however long it is away or fails a TLS handshake. The pauses between do
 * not keep a process.
 * @throws redis_denied where Redis answers and refuses our login, or its ACL something that workers do
 */
export async function untilAnswer(location: RedisLocation): Promise<void> {
  // Apart, for ioredis would print at each try that it takes no password.
  while (await findRefusal(location)) await delay(PAUSE_MS, undefined, { ref: false });
  while (!(await doesAnswer(location))) await delay(PAUSE_MS, undefined, { ref: false });
}

async function doesAnswer(location: RedisLocation): Promise<boolean> {
  try {
    await withConnection(location, ANSWER_MS, async (client) => {
      await checkAccess(client as Redis);
      await proveAllWrites(client);
    });
    return true;
  } catch (cause) {
    const error = nameRedisError(cause);
    if (isTurnfoldError(error, 'redis_denied')) throw error;
    // A full one is there: that it is full is another failure, with another remedy.
    return isTurnfoldError(error, 'redis_full');
  }
}
