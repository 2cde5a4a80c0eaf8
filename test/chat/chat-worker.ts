// A worker of the chat test, until it is killed. Its model streams as many words as the user asks for.
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineTool } from '../../src/domain/agent.ts';
import { ROLES, startWorkers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { AGENT, SHARDS } from './chat-run.ts';

const WORD_MS = 15;

async function* speak(words: readonly string[]): AsyncGenerator<string> {
  for (const word of words) {
    yield `${word} `;
    await sleep(WORD_MS);
  }
}

const model = scriptedModel({
  decide: ({ messages }) => {
    const last = messages.at(-1);
    const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    const { turn = '0', count = '1' } = /turn (?<turn>\d+): (?<count>\d+) words/.exec(asked)?.groups ?? {};
    if (last?.role === 'user' && Number(turn) % 5 === 0) {
      return { content: speak(['Let', 'me', 'look.']), toolCalls: [{ name: 'look', arguments: { turn } }] };
    }
    return { content: speak(Array.from({ length: Number(count) }, (_, word) => `w${turn}-${word}`)) };
  },
});

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ turn: z.string() }),
  run: async ({ turn }) => `seen ${turn}`,
});

await startWorkers({
  redisUrl: process.argv[2] ?? '',
  agents: [{ name: AGENT, system: 'You talk.', policy: { maxTokens: 2_000 }, model, tools: [look] }],
  roles: ROLES,
  shards: SHARDS,
  queueShards: 1,
  concurrency: { turn: 16, compaction: 2, summarization: 2 },
  shutdownMs: 1_000,
});
// The parent process owns the other end of stdin. If the parent dies, the worker ends too.
process.stdin.on('end', () => process.exit(1)).resume();
flushCompileCache();
process.stdout.write('started\n');
