import { createInterface } from 'node:readline/promises';
import { openClient } from '../../client/index.ts';
import { readConfig } from '../../config.ts';
import { createWorkspaceAgent } from '../../demo/workspace-agent.ts';
import { provideRedis } from '../../local-redis/provide-redis.ts';
import { ROLES, startWorkers } from '../../runtime/start-workers.ts';
import { createLogger, logEvents } from '../../telemetry/logs.ts';
import { readPolicyFile } from '../files.ts';
import { loadAgents } from '../load-agents.ts';
import type { Output } from '../output.ts';
import { showContext, showVersions } from './show.ts';

export interface DevOptions {
  readonly agents?: string;
  readonly policy?: string;
  readonly conversation: string;
}

const WAIT_MS = 120_000;

/** A Redis, all workers and a prompt in one process: to try an agent and see what it still knows. */
export async function runDev(options: DevOptions, output: Output): Promise<number> {
  const { redisUrl: given, shards, queueShards, concurrency, shutdownMs, metrics } = readConfig();
  const policy = options.policy === undefined ? {} : (await readPolicyFile(options.policy)).policy;
  const agents =
    options.agents === undefined ? [createWorkspaceAgent(process.cwd())] : await loadAgents(options.agents);
  const redis = await provideRedis({ ...(given === undefined ? {} : { redisUrl: given }), log: output.note });
  const onEvent = logEvents(createLogger({ level: 'warn', isPretty: true }));
  const settings = { redisUrl: redis.url, shards, queueShards };
  const workers = await startWorkers({
    ...settings,
    agents,
    policy,
    roles: ROLES,
    concurrency,
    shutdownMs,
    metrics: { ...metrics, port: 0 },
    onEvent,
  });
  const client = await openClient(settings);
  const agent = agents[0]?.name ?? '';
  output.line(`Redis    ${redis.description}`);
  output.line(`metrics  ${workers.metricsUrl ?? 'none'}`);
  output.line(`agents   ${agents.map(({ name }) => name).join(', ')}`);
  output.line('Type a message; /show, /versions and /compact look inside; /quit ends.');
  const prompt = createInterface({ input: process.stdin, output: process.stdout, prompt: `${agent}> ` });
  prompt.prompt();
  try {
    for await (const line of prompt) {
      if (line.trim() === '/quit') break;
      await answerLine({ client, output }, line.trim(), agent, options.conversation).catch((error: unknown) =>
        output.note(String(error)),
      );
      prompt.prompt();
    }
  } finally {
    prompt.close();
    await client.close();
    await workers.close();
    await redis.stop();
  }
  return 0;
}

async function answerLine(
  context: Parameters<typeof showContext>[0],
  line: string,
  agent: string,
  conversation: string,
): Promise<void> {
  const { client, output } = context;
  const reading = { json: false, tenant: '_', full: false };
  if (line === '') return;
  if (line === '/show') await showContext(context, conversation, reading);
  else if (line === '/versions') await showVersions(context, conversation, reading);
  else if (line === '/compact') output.line(`pass ${await client.compactNow(conversation)}`);
  else {
    const { turn } = await client.enqueueTurn({ conversation, agent, input: line });
    const view = await client.result(conversation, turn, { waitMs: WAIT_MS });
    output.line(view.answer?.content ?? `${view.state} ${view.failure?.message ?? ''}`);
  }
}
