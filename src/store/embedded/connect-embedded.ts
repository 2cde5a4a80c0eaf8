import { duplexPair } from 'node:stream';
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis';
import type { EmbeddedRedis } from './server.ts';

/** Settings of sockets, which ioredis makes and a stream inside a process does not have. */
const SOCKET_SETTINGS = { setNoDelay: () => undefined, setKeepAlive: () => undefined };

/** Opens a connection to a Redis in this process. Its duplicates connect to the same server. */
export function connectEmbedded(server: EmbeddedRedis, options: Omit<RedisOptions, 'replyMapping'> = {}): Redis {
  class InProcessConnector extends AbstractConnector {
    constructor() {
      super(0);
    }

    override async connect(): Promise<never> {
      const [ours, theirs] = duplexPair();
      server.serve(theirs);
      Object.assign(this, { stream: Object.assign(ours, SOCKET_SETTINGS) });
      // ioredis types sockets only.
      return ours as never;
    }
  }
  return new Redis({ ...options, Connector: InProcessConnector });
}
