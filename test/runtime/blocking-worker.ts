// Separate process of the tests: workers with a tool that blocks the event loop. Each run of the tool, and each model call, is
// counted in Redis first.
import { Redis } from 'ioredis';
import { z } from 'zod';
import { defineTool } from '../../src/domain/agent.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { SHARDS } from './fixture.ts';

const [redisUrl = '', blockMs = '0', blockedMs = '60000'] = process.argv.slice(2);
const redis = new Redis(redisUrl);

const block = defineTool({
  name: 'block',
  description: '',
  input: z.object({}),
  run: async (_, { conversation }) => {
    await redis.hincrby('runs', conversation, 1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockMs));
    return 'blocked';
  },
});

const model = scriptedModel({
  decide: async ({ messages }) => {
    const asked = messages[0]?.content ?? '';
    await redis.hincrby('calls', asked, 1);
    if (messages.length > 1) return { content: 'done' };
    if (asked === 'block') return { toolCalls: [{ name: 'block', arguments: {} }] };
    while ((await redis.hexists('runs', 'blocked')) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return { content: 'done' };
  },
});

await startWorkers({
  redisUrl,
  agents: [{ name: 'guide', system: '', model, tools: [block], policy: {} }],
  shards: SHARDS,
  blockedMs: Number(blockedMs),
  onEvent: ({ type, ...event }) => {
    if (type === 'event_loop_blocked') void redis.rpush('blocks', JSON.stringify(event));
  },
});
process.stdout.write('started\n');
// The parent holds the other end. Its death ends the workers here.
process.stdin.on('end', () => process.exit(1)).resume();
