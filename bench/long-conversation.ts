import { openClient } from '../src/api/client/index.ts';
import type { Agent } from '../src/domain/agent.ts';
import type { Message } from '../src/domain/message.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { compact, fill } from './long-log.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, spreadOf } from './spread.ts';

const TURNS = sampleSize(400, 5);
const WARM_UP = sampleSize(40, 1);
const SHORT = 10;
const LONG = sampleSize(10_000, 200);
const TARGET = 1.2;

const agent: Agent = {
  name: 'bench',
  system: 'Answer.',
  tools: [],
  policy: { tokenThreshold: 3_000, maxTokens: 1_000 },
  model: scriptedModel({ decide: () => ({ content: 'done' }) }),
};

/**
 * Measures how much longer a turn takes in a conversation of 10,000 messages than in one of 10. A turn is timed from
 * acceptance to answer. Turns of both conversations alternate. The long conversation was compacted, and its log is
 * complete.
 */
async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const workers = await startWorkers({
    redisUrl: redis.url,
    agents: [agent],
    roles: ['turn', 'compaction', 'summarization'],
    shards: 256,
    queueShards: 1,
    concurrency: { turn: 10, compaction: 5, summarization: 5 },
    shutdownMs: 5_000,
  });
  const client = await openClient({ redisUrl: redis.url });
  try {
    await fill(client, { conversation: 'short', agent: agent.name }, talk(SHORT));
    await fill(client, { conversation: 'long', agent: agent.name }, talk(LONG));
    await compact(client, 'long');
    const times: Record<string, number[]> = { short: [], long: [] };
    for (let turn = 0; turn < WARM_UP + TURNS; turn += 1) {
      for (const conversation of ['short', 'long']) {
        const startedAt = performance.now();
        const { turn: id } = await client.enqueueTurn({ conversation, agent: agent.name, input: 'Go on.' });
        await client.result(conversation, id, { waitMs: 10_000 });
        if (turn >= WARM_UP) times[conversation]?.push(performance.now() - startedAt);
      }
    }
    const [short, long] = [spreadOf(times.short ?? []), spreadOf(times.long ?? [])];
    const ratio = long.median / short.median;
    if (process.argv.includes('--json'))
      process.stdout.write(`${JSON.stringify({ short, long, ratio, target: TARGET })}\n`);
    else {
      process.stdout.write(`a turn, from accept to answer, ms over ${TURNS} turns: median (min–max)\n`);
      process.stdout.write(
        `behind ${SHORT} messages      ${describeSpread(short)}\nbehind ${LONG} messages  ${describeSpread(long)}\n`,
      );
      process.stdout.write(`ratio of the medians    ${ratio.toFixed(2)} (target ≤ ${TARGET})\n`);
    }
  } finally {
    await client.close();
    await workers.close();
    await redis.stop();
  }
}

function talk(messages: number): Message[] {
  return Array.from({ length: messages }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `message ${index}`,
  }));
}

await main();
