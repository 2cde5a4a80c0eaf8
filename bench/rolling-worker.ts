// Worker of all roles that rolling-restarts.ts starts as a separate process. It prints which work it claims and hands
// back. On SIGTERM it shuts down in order.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineTool } from '../src/domain/agent.ts';
import type { ModelRequest } from '../src/domain/model.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { type ScriptedAnswer, scriptedModel } from '../src/providers/scripted.ts';

/** Delay in ms of model calls in every fourth conversation and of every summary. */
const LONG_MS = 20_000;
const SHORT_MS = 1_000;
const TOOL_MS = 2_000;
const WORDS = ' word'.repeat(300);

const [redisUrl = '', shutdownMs = '', callMs = ''] = process.argv.slice(2);
const longMs = Number(callMs) || LONG_MS;

const pay = defineTool({
  name: 'pay',
  description: '',
  input: z.object({}),
  retry: 'never',
  run: async () => {
    await sleep(TOOL_MS);
    return WORDS;
  },
});

async function decide({ messages, signal }: ModelRequest): Promise<ScriptedAnswer> {
  const isLong = messages.find(({ role }) => role === 'user')?.content.startsWith('long') === true;
  await sleep(isLong ? longMs : SHORT_MS, undefined, { signal });
  const isPaid = messages.at(-1)?.role === 'tool';
  return isPaid ? { content: 'done' } : { content: WORDS, toolCalls: [{ name: 'pay', arguments: {} }] };
}

const summarizer = scriptedModel({
  profile: { id: 'slow-summarizer', windowTokens: 200_000 },
  decide: async ({ signal }) => {
    await sleep(longMs, undefined, { signal });
    return { content: 'Goal: to see it work.' };
  },
});

function report(fact: object): void {
  process.stdout.write(`${JSON.stringify({ ...fact, at: Date.now() })}\n`);
}

const workers = await startWorkers({
  redisUrl,
  agents: [
    {
      name: 'busy',
      system: 'Pay, then answer.',
      tools: [pay],
      policy: { turnThreshold: 3, retentionWindow: 2, summarizer: { models: ['slow-summarizer'] } },
      model: scriptedModel({ profile: { windowTokens: 200_000 }, decide }),
    },
  ],
  summarizers: [summarizer],
  shards: 16,
  concurrency: { turn: 100, compaction: 20, summarization: 50 },
  shutdownMs: Number(shutdownMs),
  onEvent: (event) => {
    if (event.type === 'worker_failed') process.stderr.write(`${event.where}: ${String(event.error)}\n`);
    if (event.type === 'lease_returned') {
      const { type, what, isCutOff, conversation, turn } = event;
      report({ type, what, isCutOff, turn: `${conversation}/${turn}` });
    }
    if (event.type === 'turn_claimed') report({ type: event.type, turn: `${event.conversation}/${event.turn}` });
    if (event.type === 'lease_lost') report({ type: event.type, why: event.why, turn: '' });
    if (event.type === 'tool_called') report({ type: event.type, outcome: event.outcome, turn: '' });
    if (event.type === 'pass_ended') report({ type: event.type, outcome: event.outcome, turn: '' });
    if (event.type === 'summary_ended') report({ type: event.type, outcome: event.outcome, turn: '' });
  },
});
report({ type: 'started', turn: '' });

async function stop(): Promise<void> {
  report({ type: 'stopped', outcome: await workers.close(), turn: '' });
  setImmediate(() => process.exit(0));
}

process.once('SIGTERM', () => {
  void stop();
});
