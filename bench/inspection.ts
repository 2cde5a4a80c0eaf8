/**
 * Measures what a page asks about a conversation of 10,000 messages in Redis: `node bench/inspection.ts [--json]`. The
 * messages have 200 to 1,600 characters, 8 MB in all. Times are CPU times of the client's process, because other work may
 * share the machine. Target: a dry run with another policy takes at most 100 ms (median).
 */
import { type OpenClient, openClient } from '../src/api/client/index.ts';
import type { Agent } from '../src/domain/agent.ts';
import type { PolicyInput } from '../src/domain/policy.ts';
import { startWorkers } from '../src/host/start-workers.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { compact, fill } from './long-log.ts';
import { chatHistory, mixedHistory, realisticTexts } from './plan-histories.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const MESSAGES = sampleSize(10_000, 600);
const RUNS = sampleSize(11, 2);
const CONVERSATION = 'long';
/** A conversation of text only, whose calls all have results, so that it can be compacted at any message. */
const COMPACTED = 'compacted';

const agent: Agent = {
  name: 'bench',
  system: 'Answer.',
  tools: [],
  policy: { maxTokens: 16_000 },
  model: scriptedModel({ decide: () => ({ content: 'done' }) }),
};

/** A policy with another budget for each run, so that no run can have the plan of an earlier one. */
const POLICIES: Readonly<Record<string, (run: number) => PolicyInput>> = {
  summarize: (run) => ({ maxTokens: 100_000 + run, tokenThreshold: 110_000 + run }),
  'summarize the prefix': (run) => ({ maxTokens: 100_000 + run, tokenThreshold: 110_000 + run, scope: 'prefix' }),
  mask: (run) => ({ maxTokens: 400_000 + run, tokenThreshold: 500_000, maskToolResults: true }),
  evict: (run) => ({ maxTokens: 100_000 + run, tokenThreshold: 110_000, minSequenceMessages: MESSAGES }),
};

async function time(work: (run: number) => Promise<unknown>, runs = RUNS): Promise<Spread> {
  const took: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const before = process.cpuUsage();
    await work(run);
    const { user, system } = process.cpuUsage(before);
    took.push((user + system) / 1_000);
  }
  return spreadOf(took);
}

async function measure(client: OpenClient, openAnother: () => Promise<OpenClient>): Promise<Record<string, Spread>> {
  const rows: Record<string, Spread> = {};
  const pages = Math.ceil(MESSAGES / 2_000);
  rows['outline, a page of 2,000'] = await time((run) =>
    client.outline(CONVERSATION, { after: (run % pages) * 2_000, limit: 2_000 }),
  );
  rows['outline, a page of 200'] = await time((run) => client.outline(CONVERSATION, { after: run * 200, limit: 200 }));
  rows['first breakdown'] = await time((await firstCalls(openAnother)).breakdown, 3);
  rows['breakdown again'] = await time(() => client.breakdown(CONVERSATION));
  rows['first dry run'] = await time((await firstCalls(openAnother)).plan, 3);
  for (const [name, policyOf] of Object.entries(POLICIES)) {
    rows[`dry run again: ${name}`] = await time((run) => client.plan(CONVERSATION, { policy: policyOf(run) }));
  }
  return rows;
}

/** Calls of clients that have read nothing before. */
async function firstCalls(openAnother: () => Promise<OpenClient>) {
  const clients = await Promise.all([0, 1, 2].map(openAnother));
  const at = (run: number): OpenClient => clients[run] as OpenClient;
  return {
    breakdown: async (run: number) => await at(run).breakdown(CONVERSATION),
    plan: async (run: number) => await at(run).plan(CONVERSATION, { policy: POLICIES['summarize']?.(run) ?? {} }),
  };
}

async function main(): Promise<void> {
  const redis = await openBenchRedis();
  const opened: OpenClient[] = [];
  const open = async (): Promise<OpenClient> => {
    const client = await openClient({ redisUrl: redis.url });
    opened.push(client);
    return client;
  };
  const client = await open();
  await fill(client, { conversation: CONVERSATION, agent: agent.name }, mixedHistory(MESSAGES, realisticTexts(3)));
  await fill(client, { conversation: COMPACTED, agent: agent.name }, chatHistory(MESSAGES, realisticTexts(3)));
  const rows = await measure(client, open);
  const workers = await startWorkers({
    redisUrl: redis.url,
    agents: [agent],
    roles: ['turn', 'compaction', 'summarization'],
    shards: 256,
    queueShards: 1,
    concurrency: { turn: 1, compaction: 1, summarization: 1 },
    shutdownMs: 5_000,
  });
  try {
    await compact(client, COMPACTED);
    rows['first report of a version'] = await time((run) => client.report(COMPACTED, 1, { find: `a${run}` }), 3);
    rows['report again'] = await time(() => client.report(COMPACTED, 1, { find: 'a0' }));
    rows['outline under a version, a page of 200'] = await time((run) =>
      client.outline(COMPACTED, { after: run * 200, limit: 200 }),
    );
    if (process.argv.includes('--json')) console.log(JSON.stringify({ messages: MESSAGES, runs: RUNS, rows }));
    else {
      console.log(`reads of a conversation of ${MESSAGES} messages, ms of CPU time: median (min–max)`);
      for (const [name, spread] of Object.entries(rows)) console.log(`${name.padEnd(42)} ${describeSpread(spread)}`);
    }
  } finally {
    for (const one of opened) await one.close();
    await workers.close();
    await redis.stop();
  }
}

await main();
