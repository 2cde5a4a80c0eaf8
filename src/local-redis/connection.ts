import { Redis } from 'ioredis';

export interface ServerIdentity {
  readonly name: 'Redis' | 'Valkey';
  /** "unknown" where INFO is not allowed. */
  readonly version: string;
  readonly pid: number | undefined;
}

/**
 * Opens one connection to `url`, runs `use` and closes it, all within `timeoutMs`.
 * Throws what the server or the network said; no retries, because the callers decide about those.
 */
export async function withConnection<T>(
  url: string,
  timeoutMs: number,
  use: (client: Redis) => Promise<T>,
): Promise<T> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: timeoutMs,
    disconnectTimeout: 100, // ioredis waits 2 s for the other side to close
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  // connect() rejects with "Connection is closed."; the reason arrives as an event.
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason = error;
  });
  const deadline = setTimeout(() => {
    reason = new Error(`no answer within ${timeoutMs} ms`);
    client.disconnect();
  }, timeoutMs);
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    throw reason ?? error;
  } finally {
    clearTimeout(deadline);
    client.disconnect();
  }
}

/** Proves that `client` answers PING and says who it is. INFO may be forbidden by an ACL, PING is what counts. */
export async function identifyServer(client: Redis): Promise<ServerIdentity> {
  await client.ping();
  return parseIdentity(await client.info('server').catch(() => ''));
}

function parseIdentity(info: string): ServerIdentity {
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.+?)\\r?$`, 'm').exec(info)?.[1];
  const valkeyVersion = field('valkey_version');
  const pid = field('process_id');
  return {
    name: valkeyVersion === undefined ? 'Redis' : 'Valkey',
    version: valkeyVersion ?? field('redis_version') ?? 'unknown',
    pid: pid === undefined ? undefined : Number(pid),
  };
}
