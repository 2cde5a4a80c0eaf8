import type { Cluster, Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { callRedis } from './connection.ts';

/** Asks each server that takes writes, at once. Where one of several is away, it is left out. */
export async function askMasters<Answer>(
  redis: Redis,
  ask: (master: Redis) => Promise<Answer | undefined>,
): Promise<Answer[]> {
  // Before a Cluster has answered once, all the nodes of its address pass for masters.
  if (redis.isCluster) await callRedis(() => redis.exists('{tf}:database'));
  const masters = redis.isCluster ? (redis as unknown as Cluster).nodes('master') : [redis];
  const answers = await Promise.all(
    masters.map(async (master) => {
      try {
        return await callRedis(() => ask(master));
      } catch (error) {
        if (redis.isCluster && isTurnfoldError(error, 'redis_unavailable')) return undefined;
        throw error;
      }
    }),
  );
  return answers.flatMap((answer) => (answer === undefined ? [] : [answer]));
}

/** undefined where the user, or anybody, may not ask it: managed servers hide some commands, an ACL any */
export async function unlessForbidden<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message)) return undefined;
    throw error;
  }
}

/** A field of what INFO answers. */
export function readField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
