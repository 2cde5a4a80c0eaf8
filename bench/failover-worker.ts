// Turn worker that failover.ts starts as a separate process. It prints which turns it claims and hands back.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineTool } from '../src/domain/agent.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';

/**
 * Number of model calls in a turn, with a tool call between two. So a killed worker always interrupts a turn in the
 * middle.
 */
const STEPS = 5;
const STEP_MS = 800;

const [redisUrl = ''] = process.argv.slice(2);
const look = defineTool({ name: 'look', description: '', input: z.object({}), run: async () => 'nothing new' });

await startWorkers({
  redisUrl,
  agents: [
    {
      name: 'slow',
      system: 'Look, then answer.',
      tools: [look],
      policy: { enabled: false },
      model: scriptedModel({
        profile: { windowTokens: 1_000_000 },
        decide: async ({ idempotencyKey }) => {
          await sleep(STEP_MS);
          const isLast = idempotencyKey.endsWith(`model-${STEPS}`);
          return isLast ? { content: 'done' } : { content: 'hm', toolCalls: [{ name: 'look', arguments: {} }] };
        },
      }),
    },
  ],
  roles: ['turn'],
  shards: 256,
  queueShards: 1,
  concurrency: { turn: 100, compaction: 1, summarization: 1 },
  shutdownMs: 1_000,
  onEvent: (event) => {
    if (event.type !== 'turn_claimed' && event.type !== 'turn_settled') return;
    const { type, conversation, turn } = event;
    // A pipe is written synchronously, so a kill loses none of the lines printed before it.
    process.stdout.write(`${JSON.stringify({ type, turn: `${conversation}/${turn}`, at: Date.now() })}\n`);
  },
});
process.stdout.write(`${JSON.stringify({ type: 'started', turn: '', at: Date.now() })}\n`);
