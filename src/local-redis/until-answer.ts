import { setTimeout as delay } from 'node:timers/promises';
import { pingMasters, withConnection } from './connection.ts';
import { isInProtectedMode } from './protected-mode.ts';

const PAUSE_MS = 500;
const PING_TIMEOUT_MS = 1_000;

/** Asks a Redis, however it is run, until it answers, however long it is away or refuses us; the pauses between do not keep a process. */
export async function untilAnswer(url: string): Promise<void> {
  // Apart, for ioredis would print at each try that it takes no password.
  while (await isInProtectedMode(url)) await delay(PAUSE_MS, undefined, { ref: false });
  while (!(await doesAnswer(url))) await delay(PAUSE_MS, undefined, { ref: false });
}

async function doesAnswer(url: string): Promise<boolean> {
  try {
    await withConnection(url, PING_TIMEOUT_MS, pingMasters);
    return true;
  } catch {
    return false;
  }
}
