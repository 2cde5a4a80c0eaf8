// Separate process of the tests: a worker whose model calls last until the key `go` exists. Each call is listed in `calls`.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startWorkers, type WorkerRole } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { SHARDS } from './fixture.ts';

const [redisUrl = '', ownUrl = '', roles = 'turn'] = process.argv.slice(2);
const redis = new Redis(redisUrl);

const model = scriptedModel({
  decide: async () => {
    await redis.rpush('calls', process.pid);
    while ((await redis.exists('go')) === 0) await sleep(20);
    // As an answer and as a summary.
    return { content: '## State\nriver stone garden window market' };
  },
});

const policy = { messageThreshold: 8, retentionWindow: 2, summarizer: { models: ['scripted'] } };

await startWorkers({
  redisUrl: ownUrl,
  agents: [{ name: 'guide', system: '', model, tools: [], policy }],
  roles: roles.split(',') as WorkerRole[],
  shards: SHARDS,
  concurrency: { turn: 8, compaction: 1, summarization: 1 },
});
process.stdout.write('started\n');
// The parent holds the other end. Its death ends the workers here.
process.stdin.on('end', () => process.exit(1)).resume();
