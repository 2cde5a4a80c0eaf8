import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { hasRedisServer, MortalRedis } from '../chaos/mortal-redis.ts';

const agent = 'talker';
const ACCEPTS = 1_500;
const CONVERSATIONS = 50;
const DOWN_MS = 1_200;

async function startRedis(): Promise<MortalRedis> {
  const redis = await MortalRedis.start();
  onTestFinished(() => redis.stop());
  return redis;
}

async function connect(
  redis: MortalRedis,
  options: Partial<Parameters<typeof openClient>[0]> = {},
): Promise<OpenClient> {
  const client = await openClient({ redisUrl: redis.url, shards: 4, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** Kills Redis, and starts it on the same data a while later. */
async function restart(redis: MortalRedis): Promise<void> {
  await redis.kill();
  await sleep(DOWN_MS);
  await redis.start();
}

test.skipIf(!hasRedisServer)(
  'a client accepts every turn exactly once while Redis is killed and restarted',
  { timeout: 120_000 },
  async () => {
    const redis = await startRedis();
    // Starting a server may take long. The pause alone is 1.2 s.
    const client = await connect(redis, { deadlineMs: 60_000 });
    const accepts: Promise<unknown>[] = [];
    let restarting: Promise<void> | undefined;
    for (let count = 0; count < ACCEPTS; count += 1) {
      if (count === ACCEPTS / 5) restarting = restart(redis);
      // Half of the ids are the caller's, half the client's.
      const turn = count % 2 === 0 ? { turn: `t${count}` } : {};
      accepts.push(
        client.enqueueTurn({ conversation: `c${count % CONVERSATIONS}`, agent, input: `x${count}`, ...turn }),
      );
      if (count % 5 === 0) await sleep(1);
    }
    const outcomes = await Promise.allSettled(accepts);
    await restarting;

    expect(outcomes.filter(({ status }) => status === 'rejected')).toStrictEqual([]);
    const held = await Promise.all(
      Array.from({ length: CONVERSATIONS }, (_, at) => client.openTurns(`c${at}`, { limit: 1_000 })),
    );
    const turns = held.flatMap(({ turns: list }, at) => list.map(({ turn }) => `c${at}/${turn}`));
    expect(turns).toHaveLength(ACCEPTS);
    expect(new Set(turns).size).toBe(ACCEPTS);
    const answered = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    const named = (answered as { conversation: string; turn: string }[]).map(
      (one) => `${one.conversation}/${one.turn}`,
    );
    expect(new Set(named)).toStrictEqual(new Set(turns));
  },
);

test.skipIf(!hasRedisServer)(
  'a call that outlasts deadlineMs fails with redis_unavailable, the turn id and the cause',
  async () => {
    const redis = await startRedis();
    const client = await connect(redis, { deadlineMs: 300 });
    await redis.kill();
    const error = await client.enqueueTurn({ conversation: 'c1', agent, input: 'x' }).then(
      () => undefined,
      (reason: unknown) => reason as Error,
    );
    expect(error).toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringMatching(/^Redis does not answer: .*repeat the call with this turn/) as string,
      details: { turn: expect.any(String) as string },
    });
    expect(error?.message).not.toMatch(/Connection is closed|writeable|Stream|retries/);
    expect(error?.cause).toBeInstanceOf(Error);
  },
);
