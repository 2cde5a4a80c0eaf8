import { type Redis, ReplyError } from 'ioredis';

/** A script that says nothing of writing none: refused where a write is, and it writes nothing. Without a key any server runs it. */
const MIGHT_WRITE = '#!lua\nreturn 1';

/**
 * Proves that this very server would take a write now. One whose disk is full, or whose replicas are missing, answers all else.
 * @throws what the server says: MISCONF, NOREPLICAS, READONLY, OOM
 */
export async function proveWrites(server: Redis): Promise<void> {
  await server.call('eval', [MIGHT_WRITE, 0]);
}

/** As above: why it would not; undefined where it would. */
export async function probeWrites(server: Redis): Promise<Error | undefined> {
  try {
    await proveWrites(server);
    return undefined;
  } catch (error) {
    if (error instanceof ReplyError) return error as Error;
    throw error;
  }
}
