import { Redis } from 'ioredis';
import { openClient } from '../src/api/client/index.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { openDatabase } from '../src/store/database.ts';
import { openStore } from '../src/store/open-store.ts';
import { restConversation } from '../test/store/rest-conversation.ts';
import { openBenchRedis } from './redis.ts';

const TURNS = 10;
const SHARDS = 256;

/**
 * Measures the bytes in Redis of a conversation of 10 turns besides its content, with and without its events. The first
 * figures are those after the last turn. The others are those after an hour without use, when the log is packed.
 */
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
    shards: SHARDS,
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
    const ref = { tenant: '_', id: 'idle' };
    const { keyspace } = await openDatabase(connection, { shards: SHARDS });
    const fresh = await measure(connection, content);
    await restConversation(connection, keyspace, ref);
    await openStore(connection, keyspace).packLog(ref);
    const rested = await measure(connection, content);
    if (process.argv.includes('--json'))
      process.stdout.write(`${JSON.stringify({ turns: TURNS, content, fresh, rested })}\n`);
    else
      process.stdout.write(
        `a conversation of ${TURNS} turns, besides its ${content} bytes of content:\n` +
          `after the last turn ${describe(fresh)}\nan hour later ${describe(rested)}\n`,
      );
  } finally {
    connection.disconnect();
    await client.close();
    await workers.close();
    await redis.stop();
  }
}

interface Measured {
  readonly besides: number;
  readonly withEvents: number;
}

async function measure(redis: Redis, content: number): Promise<Measured> {
  let [events, besides] = [0, -content];
  for (const key of (await redis.keys('{tf*:idle*')).filter((name) => !name.endsWith(':ready'))) {
    const bytes = Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
    if (key.includes(':ev:')) events += bytes;
    else besides += bytes;
  }
  return { besides, withEvents: besides + events };
}

function describe({ besides, withEvents }: Measured): string {
  return `${besides} bytes, ${withEvents} while its events last`;
}

await main();
