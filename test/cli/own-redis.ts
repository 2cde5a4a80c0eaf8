import { onTestFinished } from 'vitest';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';

export interface OwnRedis extends LocalRedis {
  readonly pid: number;
}

/** A Redis of this test alone, which may be killed and frozen. @param serverArgs of redis-server, over the defaults */
export async function openOwnRedis(...serverArgs: readonly string[]): Promise<OwnRedis> {
  const redis = await provideRedis({ sources: ['path', 'package'], serverArgs });
  onTestFinished(() => redis.stop());
  const { pid } = redis;
  if (pid === undefined) throw new Error('a Redis that was started here has a pid');
  return { ...redis, pid };
}
