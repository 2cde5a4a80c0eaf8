// Run as a process of its own by the tests: workers with an agent that has a tool which kills its process. Guilty are the turns
// that ask for it. Each run of it is counted in Redis first.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { defineTool } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { type ScriptedAnswer, scriptedModel } from '../../src/providers/scripted.ts';
import { SHARDS } from './fixture.ts';

/** So long that a neighbour's crash comes amid of each step. */
const STEP_MS = 700;
const CRASH_MS = 400;

const [redisUrl = ''] = process.argv.slice(2);
const redis = new Redis(redisUrl);

const crash = defineTool({
  name: 'crash',
  description: '',
  input: z.object({}),
  run: async (_, { conversation }) => {
    await redis.hincrby('runs', conversation, 1);
    await sleep(CRASH_MS);
    process.kill(process.pid, 'SIGKILL');
    return await new Promise<string>(() => undefined);
  },
});

async function decide({ messages }: ModelRequest): Promise<ScriptedAnswer> {
  if (messages[0]?.content === 'guilty') return { toolCalls: [{ name: 'crash', arguments: {} }] };
  await sleep(STEP_MS);
  const calls = messages.filter(({ role }) => role === 'tool').length;
  return calls < 2 ? { toolCalls: [{ name: 'wait', arguments: {} }] } : { content: 'done' };
}

const wait = defineTool({
  name: 'wait',
  description: '',
  input: z.object({}),
  run: async () => {
    await sleep(STEP_MS);
    return 'waited';
  },
});

await startWorkers({
  redisUrl,
  agents: [{ name: 'guide', system: '', model: scriptedModel({ decide }), tools: [crash, wait], policy: {} }],
  roles: ['turn'],
  shards: SHARDS,
  concurrency: { turn: 30, compaction: 1, summarization: 1 },
});
// The parent holds the other end. Its death ends the workers here.
process.stdin.on('end', () => process.exit(1)).resume();
