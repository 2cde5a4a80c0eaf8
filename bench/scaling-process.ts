// Process of a benchmark: `worker <redis> <provider> <queue shards> <jobs at a time>`, `provider <latency ms>`,
// `paced <tokens> <ms per token>` for a provider that streams, or `server <redis>` for HTTP. It reports when it is
// ready, and on each message how much CPU time it has used.
import { setTimeout as sleep } from 'node:timers/promises';
import { openClient } from '../src/api/client/index.ts';
import { createHttpApp } from '../src/api/http/index.ts';
import { serveHttp } from '../src/api/http/serve-http.ts';
import type { Agent } from '../src/domain/agent.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { chatModel } from '../src/providers/openai/chat-model.ts';
import { startProvider } from '../test/provider/provider.ts';
import { PacedProvider } from './paced-provider.ts';
import { type Percentiles, percentilesOf } from './spread.ts';

/** Work of a process since its start, and delays of its event loop since the last report. */
export interface ProcessReport {
  readonly cpuMs: number;
  /** How late a timer of 10 ms fired. Other load on the machine makes timers late, too. */
  readonly lateMs: Percentiles;
  /** CPU time of the thread between two timers of 10 ms: its own part of the delay is no longer than that. */
  readonly heldMs: Percentiles;
  /** Tokens that a paced provider has sent, and the answers that it is streaming. */
  readonly tokens: number;
  readonly streaming: number;
}

/** Messages that the process sends: ready, with the URL of a provider or a server, or its report. */
export type Said = { readonly ready: true; readonly url?: string } | ProcessReport;

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

let paced: PacedProvider | undefined;

async function runPaced([tokens = '0', msPerToken = '0']: string[]) {
  paced = new PacedProvider({ tokens: Number(tokens), msPerToken: Number(msPerToken) });
  say({ ready: true, url: await paced.listen() });
}

async function runServer([redisUrl = '']: string[]) {
  const client = await openClient({ redisUrl });
  const { url } = await serveHttp({ app: createHttpApp({ client, authenticate: 'none' }), host: '127.0.0.1', port: 0 });
  say({ ready: true, url });
}

const ROLES = { worker: runWorker, provider: runProvider, paced: runPaced, server: runServer };
const [role = '', ...args] = process.argv.slice(2);
const TIMER_MS = 10;
let late: number[] = [];
let held: number[] = [];
let dueAt = performance.now() + TIMER_MS;
let usedMs = 0;
setInterval(() => {
  const { user, system } = process.threadCpuUsage();
  late.push(Math.max(0, performance.now() - dueAt));
  held.push((user + system) / 1_000 - usedMs);
  usedMs = (user + system) / 1_000;
  dueAt = performance.now() + TIMER_MS;
}, TIMER_MS).unref();
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { tokens = 0, streaming = 0 } = paced ?? {};
  const cpuMs = (user + system) / 1_000;
  say({ cpuMs, lateMs: percentilesOf(late), heldMs: percentilesOf(held), tokens, streaming });
  late = [];
  held = [];
});
process.on('disconnect', () => process.exit());
await ROLES[role as keyof typeof ROLES](args);
