import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenClient, openClient, type TurnPart } from '../../src/api/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { ROLES, startWorkers, type Workers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { hasRedisServer, MortalRedis } from '../chaos/mortal-redis.ts';
import { SHARDS } from './fixture.ts';
import { messagesOf, ReadTurn } from './read-parts.ts';

const PIECES = 400;
const PIECE_MS = 10;
const RESTARTS = 2;
const RETRY_MS = 50;

let redis: MortalRedis;
let client: OpenClient;
let workers: Workers;

async function* speakSlowly(): AsyncGenerator<string> {
  for (let piece = 0; piece < PIECES; piece += 1) {
    yield `piece ${piece}, `;
    await sleep(PIECE_MS);
  }
}

const speaker = {
  name: 'speaker',
  system: '',
  policy: {},
  tools: [],
  model: scriptedModel({ decide: () => ({ content: speakSlowly() }) }),
};

beforeAll(async () => {
  if (!hasRedisServer) return;
  redis = await MortalRedis.start();
  client = await openClient({ redisUrl: redis.url, shards: SHARDS });
  workers = await startWorkers({
    redisUrl: redis.url,
    agents: [speaker],
    roles: ROLES,
    shards: SHARDS,
    queueShards: 1,
    concurrency: { turn: 2, compaction: 1, summarization: 1 },
    shutdownMs: 2_000,
  });
});
afterAll(async () => {
  await client?.close();
  await workers?.close();
  await redis?.stop();
});

/** Reads a turn as an application does: after a failure of Redis, the stream goes on behind the last part. */
async function* readThrough(turn: string): AsyncGenerator<TurnPart> {
  for (let after: string | undefined; ; ) {
    try {
      for await (const part of client.stream('c1', turn, after === undefined ? {} : { after })) {
        after = part.id;
        yield part;
      }
      return;
    } catch (error) {
      if (!isTurnfoldError(error) || error.code !== 'redis_unavailable') throw error;
      await sleep(RETRY_MS);
    }
  }
}

test.skipIf(!hasRedisServer)(
  'the text of a reader equals the log although Redis is killed and started again while pieces arrive (skipped without redis-server)',
  async () => {
    const { turn } = await client.enqueueTurn({ conversation: 'c1', agent: 'speaker', input: 'speak' });
    const reader = new ReadTurn();
    let [read, restarts] = [0, 0];
    for await (const part of readThrough(turn)) {
      reader.add(part);
      if (part.type !== 'text') continue;
      read += 1;
      if (read % 10 !== 0 || restarts === RESTARTS) continue;
      restarts += 1;
      await redis.kill();
      await redis.start();
    }
    expect(restarts).toBe(RESTARTS);
    expect(reader.messages).toEqual(messagesOf(await client.log('c1'), turn));
    expect(reader.messages).toMatchObject([{ text: expect.stringContaining(`piece ${PIECES - 1}, `) }]);
  },
);
