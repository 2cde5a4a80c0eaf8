import type { Redis } from 'ioredis';
import { type Reply, Status } from '../../src/store/embedded/reply.ts';
import type { EmbeddedRedis } from '../../src/store/embedded/server.ts';
import { textOf } from '../store/stored-conversation.ts';

/** Methods of ioredis whose results are not the replies of Redis. */
const RESULTS: Readonly<Record<string, (reply: unknown) => unknown>> = {
  hgetall: (reply) => {
    const flat = reply as readonly string[];
    return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : [])));
  },
};

/** Connects to a Redis in this process without a socket: a command has run when its call returns. */
export function connectDirectly(redis: EmbeddedRedis): Redis {
  const call = (name: string, args: readonly unknown[]): unknown => decode(redis.run(name, args.flat().map(encode)));
  const methodOf =
    (name: string) =>
    async (...args: unknown[]) => {
      if (name === 'call') return call(String(args[0]), args.slice(1));
      const reply = call(name, args);
      return RESULTS[name]?.(reply) ?? reply;
    };
  // The store calls only commands.
  return new Proxy({} as Redis, {
    get: (_, name) => (name === 'isCluster' ? false : methodOf(String(name))),
  });
}

function encode(value: unknown): string {
  return (Buffer.isBuffer(value) ? value : Buffer.from(String(value))).toString('latin1');
}

function decode(reply: Reply): unknown {
  if (typeof reply === 'string') return textOf(reply);
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? reply.map(decode) : reply;
}
