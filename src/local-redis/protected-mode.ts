import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listNodes, type RedisNode, readRedisAddress } from '../domain/redis-address.ts';

/** It says so at once; another Redis says nothing until it is asked. */
const SPEECH_MS = 1_000;

/** For people: why, and what to do. */
export const PROTECTED_MODE = {
  message: 'it is in protected mode (DENIED): without a password it takes clients of its own machine only',
  hint: 'Set a password there (requirepass) and put it into REDIS_URL, or, in a network that you trust, protected-mode no.',
};

/**
 * Whether a Redis, or one of several, refuses us as a client from another machine. It says so unasked and hangs up, and whatever ioredis sent
 * meanwhile makes the kernel drop the words: EPIPE, ECONNRESET or "Connection is closed" is all that a client gets to see.
 * So this one listens and says nothing. Over TLS it is not found out.
 */
export async function isInProtectedMode(url: string): Promise<boolean> {
  const address = readRedisAddress(url);
  if (address === undefined || (address.kind === 'single' ? url.startsWith('rediss:') : address.isTls)) return false;
  return (await Promise.all(listNodes(address).map(doesRefuse))).includes(true);
}

async function doesRefuse(node: RedisNode): Promise<boolean> {
  const socket = connect(node);
  const enough = new AbortController();
  try {
    const [words] = await Promise.race([
      once(socket, 'data', { signal: enough.signal }),
      once(socket, 'close', { signal: enough.signal }),
      delay(SPEECH_MS, [], { signal: enough.signal }),
    ]);
    return /^-DENIED .*protected mode/.test(String(words));
  } catch {
    return false; // nobody there
  } finally {
    socket.destroy();
    enough.abort();
  }
}
