// Process of a benchmark: `worker <redis> <provider> <queue shards> <jobs at a time>`, `provider <latency ms>`, or
// `server <redis>` for HTTP. It reports when it is ready, and on each message how much CPU time it has used.
import { setTimeout as sleep } from 'node:timers/promises';
import { openClient } from '../src/client/index.ts';
import type { Agent } from '../src/domain/agent.ts';
import { createHttpApp } from '../src/http/index.ts';
import { serveHttp } from '../src/http/serve-http.ts';
import { chatModel } from '../src/models/openai/chat-model.ts';
import { startWorkers } from '../src/runtime/start-workers.ts';
import { startProvider } from '../test/provider/provider.ts';

/** Messages that the process sends: ready, with the URL of a provider or a server, or its CPU time. */
export type Said = { readonly ready: true; readonly url?: string } | { readonly cpuMs: number };

export const AGENT = 'clerk';
const KEPT_REQUESTS = 100;

function say(said: Said): void {
  process.send?.(said);
}

function createClerk(providerUrl: string): Agent {
  return {
    name: AGENT,
    system: 'You are a clerk.',
    tools: [],
    policy: { retentionWindow: 6 },
    model: chatModel({
      profile: {
        id: 'clerk-1',
        encoding: 'o200k_base',
        windowTokens: 128_000,
        outputCapTokens: 1_000,
        upperBoundFactor: 1.1,
      },
      apiKey: 'sk-bench',
      baseUrl: `${providerUrl}/v1`,
    }),
  };
}

async function runWorker([redisUrl = '', providerUrl = '', queueShards = '1', concurrency = '1']: string[]) {
  await startWorkers({
    redisUrl,
    agents: [createClerk(providerUrl)],
    roles: ['turn', 'compaction', 'summarization'],
    shards: 256,
    queueShards: Number(queueShards),
    concurrency: { turn: Number(concurrency), compaction: 2, summarization: 2 },
    shutdownMs: 1_000,
    onEvent: () => undefined,
  });
  say({ ready: true });
}

async function runProvider([latencyMs = '0']: string[]) {
  const provider = await startProvider({
    answers: async () => {
      if (provider.requests.length > KEPT_REQUESTS) provider.requests.length = 0;
      await sleep(Number(latencyMs));
      return { text: 'Done.' };
    },
  });
  say({ ready: true, url: provider.url });
}

async function runServer([redisUrl = '']: string[]) {
  const client = await openClient({ redisUrl });
  const { url } = await serveHttp({ app: createHttpApp({ client }), host: '127.0.0.1', port: 0 });
  say({ ready: true, url });
}

const ROLES = { worker: runWorker, provider: runProvider, server: runServer };
const [role = '', ...args] = process.argv.slice(2);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  say({ cpuMs: (user + system) / 1_000 });
});
process.on('disconnect', () => process.exit());
await ROLES[role as keyof typeof ROLES](args);
