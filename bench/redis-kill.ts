/** Counts acknowledged writes that are lost when only the Redis process is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import { isTurnfoldError } from '../src/domain/errors.ts';
import { MortalRedis } from '../test/chaos/mortal-redis.ts';
import { sampleSize } from './sample-size.ts';

const CONVERSATIONS = sampleSize(20, 2);
const WORK_MS = { least: 1_200, most: 2_700 };
const INPUT = 'x'.repeat(2_000);

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    kills: { type: 'string', default: '20' },
    fsync: { type: 'string', default: 'everysec' },
  },
});
const kills = Number(values.kills);

interface Accepted {
  readonly conversation: string;
  readonly turn: string;
}

/** Enqueues turns until a call fails, because its Redis was killed. */
async function accept(client: OpenClient, conversation: string): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  for (;;) {
    const turn = `t${accepted.length}`;
    try {
      await client.enqueueTurn({ conversation, agent: 'nobody', turn, input: INPUT });
    } catch (error) {
      if (isTurnfoldError(error, 'redis_unavailable')) return accepted;
      throw error;
    }
    accepted.push({ conversation, turn });
  }
}

async function countLost(redisUrl: string, accepted: readonly Accepted[]): Promise<number> {
  const client = await openClient({ redisUrl });
  let lost = 0;
  for (const { conversation, turn } of accepted) {
    await client.result(conversation, turn).catch((error: unknown) => {
      if (!isTurnfoldError(error, 'not_found')) throw error;
      lost += 1;
    });
  }
  await client.close();
  return lost;
}

async function main(): Promise<void> {
  const redis = await MortalRedis.start(values.fsync === 'always' ? 'always' : 'everysec');
  const lost: number[] = [];
  let acknowledged = 0;
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const client = await openClient({ redisUrl: redis.url });
      const names = Array.from({ length: CONVERSATIONS }, (_, index) => `k${kill}-${index}`);
      const producing = Promise.all(names.map((name) => accept(client, name)));
      await sleep(WORK_MS.least + Math.random() * (WORK_MS.most - WORK_MS.least));
      await redis.kill();
      const accepted = (await producing).flat();
      await client.close();
      await redis.start();
      acknowledged += accepted.length;
      lost.push(await countLost(redis.url, accepted));
    }
  } finally {
    await redis.stop();
  }
  const total = lost.reduce((sum, count) => sum + count, 0);
  const meaning = `${total} lost, in ${lost.filter((count) => count > 0).length} of ${kills} kills`;
  process.stdout.write(`${values.fsync}: ${acknowledged} turns acknowledged, ${meaning}\n`);
}

await main();
