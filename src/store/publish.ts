import type { Redis } from 'ioredis';

const PUBLISH = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";

/** A Cluster takes PUBLISH at any node, and on their way from two nodes words overtake each other; a script goes to its key's. */
export async function publish(redis: Redis, channel: string, text: string): Promise<void> {
  if (redis.isCluster) await redis.eval(PUBLISH, 1, channel, text);
  else await redis.publish(channel, text);
}
