// Worker of all roles that long-turn.ts starts as a separate process. It prints each model call and each version.
import { z } from 'zod';
import { defineTool } from '../src/domain/agent.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { numbersFrom } from './plan-histories.ts';

const WINDOW_TOKENS = 209_000;
const RESULT_CHARACTERS = 5_000;
const [redisUrl = '', calls = ''] = process.argv.slice(2);

/** Text that differs for each call, as files do. */
function readFile(number: number): string {
  const below = numbersFrom(number + 1);
  let text = `file ${number}\n`;
  while (text.length < RESULT_CHARACTERS)
    text += `line ${below(9_000)}: order-${below(90_000)} is ready to be shipped\n`;
  return text.slice(0, RESULT_CHARACTERS);
}

function report(fact: object): void {
  // A pipe is written synchronously, so a kill loses none of the lines printed before it.
  process.stdout.write(`${JSON.stringify({ ...fact, at: performance.timeOrigin + performance.now() })}\n`);
}

const read = defineTool({
  name: 'read',
  description: 'Reads a file.',
  input: z.object({ number: z.number() }),
  run: async ({ number }) => readFile(number),
});

await startWorkers({
  redisUrl,
  agents: [
    {
      name: 'reader',
      system: 'Read all files, then answer.',
      tools: [read],
      maxSteps: 10 * Number(calls),
      policy: { tokenThreshold: 150_000, maxTokens: 60_000 },
      model: scriptedModel({
        profile: { windowTokens: WINDOW_TOKENS },
        decide: ({ idempotencyKey }) => {
          const number = Number(/\d+$/.exec(idempotencyKey)?.[0]);
          report({ type: 'model', number });
          if (number > Number(calls)) return { content: 'done' };
          return { content: '', toolCalls: [{ name: 'read', arguments: { number } }] };
        },
      }),
    },
  ],
  shards: 16,
  queueShards: 1,
  concurrency: { turn: 4, compaction: 2, summarization: 4 },
  shutdownMs: 1_000,
  onEvent: (event) => {
    if (event.type === 'worker_failed') process.stderr.write(`${event.where}: ${String(event.error)}\n`);
    if (event.type === 'pass_ended') report({ type: 'pass', outcome: event.outcome });
  },
});
report({ type: 'started' });
