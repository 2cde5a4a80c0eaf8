import { onTestFinished } from 'vitest';
import { ROLES, startWorkers, type Workers } from '../../src/host/start-workers.ts';
import { agentOf } from '../runtime/agents.ts';
import { type Server, type ServerOptions, startServer } from './servers.ts';

export const SHARDS = 4;

/** Starts a server that is stopped at the end of the test. */
export async function useServer(options: ServerOptions = {}): Promise<Server> {
  const server = await startServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** Starts workers of all roles, for the agent `guide`, which repeats its input. The caller closes them. */
export async function openWorkers(options: Partial<Parameters<typeof startWorkers>[0]>): Promise<Workers> {
  return await startWorkers({
    redisUrl: '',
    agents: [agentOf()],
    roles: ROLES,
    shards: SHARDS,
    queueShards: 1,
    concurrency: { turn: 8, compaction: 2, summarization: 2 },
    shutdownMs: 2_000,
    missingAgentMs: 0,
    ...options,
  });
}
