import { Redis } from 'ioredis';
import { openClient } from '../src/client/index.ts';
import { scriptedModel } from '../src/models/scripted.ts';
import { startWorkers } from '../src/runtime/start-workers.ts';
import { openBenchRedis } from './redis.ts';

const TURNS = 10;

/** Measures the bytes in Redis of an idle conversation of 10 turns besides its content, with and without its events. */
async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const agent = {
    name: 'bench',
    system: 'Answer.',
    tools: [],
    policy: {},
    model: scriptedModel({ decide: () => ({ content: 'done' }) }),
  };
  const workers = await startWorkers({
    redisUrl: redis.url,
    agents: [agent],
    roles: ['turn'],
    shards: 256,
    queueShards: 1,
    concurrency: { turn: 1, compaction: 1, summarization: 1 },
    shutdownMs: 5_000,
  });
  const client = await openClient({ redisUrl: redis.url });
  const connection = new Redis(redis.url);
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      const { turn: id } = await client.enqueueTurn({ conversation: 'idle', agent: agent.name, input: 'Go on.' });
      await client.result('idle', id, { waitMs: 10_000 });
    }
    const content = (await client.log('idle')).reduce(
      (sum, { message }) => sum + Buffer.byteLength(JSON.stringify(message)),
      0,
    );
    let events = 0;
    let others = -content;
    for (const key of (await connection.keys('{tf*:idle*')).filter((name) => !name.endsWith(':ready'))) {
      const bytes = Number(await connection.memory('USAGE', key, 'SAMPLES', 0));
      if (key.includes(':ev:')) events += bytes;
      else others += bytes;
    }
    if (process.argv.includes('--json'))
      process.stdout.write(
        `${JSON.stringify({ turns: TURNS, content, besides: others, withEvents: others + events })}\n`,
      );
    else
      process.stdout.write(
        `an idle conversation of ${TURNS} turns: ${others} bytes besides its ${content} bytes of content, ${others + events} while its events last\n`,
      );
  } finally {
    connection.disconnect();
    await client.close();
    await workers.close();
    await redis.stop();
  }
}

await main();
