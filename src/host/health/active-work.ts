import type { ConversationRef } from '../../domain/ids.ts';
import { openWakeQueue } from '../../jobs/bullmq/wake-queue.ts';
import { openInspection } from '../../store/inspection.ts';
import type { RedisLocation } from '../../store/redis/address.ts';

export interface ActiveWork {
  /** Number of turn workers that are connected to Redis. 0 if the server does not list its clients. */
  readonly turnWorkers: number;
  /** For each agent with pending work, one conversation as an example. */
  readonly agents: ReadonlyMap<string, ConversationRef>;
}

/**
 * Finds pending turns and connected workers of a Redis database before this process starts its own workers. Writes
 * nothing.
 * @throws redis_unavailable if Redis does not answer
 */
export async function findActiveWork(location: RedisLocation, queueShards: number): Promise<ActiveWork> {
  const inspection = await openInspection(location);
  const wakes = openWakeQueue({ ...location, shards: queueShards, onError: () => undefined, failsFast: true });
  try {
    const database = await inspection.readDatabase();
    if (database?.refusal !== undefined) throw database.refusal;
    const agents = database === undefined ? new Map() : await inspection.listWaitingAgents(database.shards);
    const reports = (await wakes.reportQueues()).filter(({ queue }) => queue === 'turn');
    return { agents, turnWorkers: Math.max(0, ...reports.map(({ workers = 0 }) => workers)) };
  } finally {
    inspection.close();
    await wakes.close();
  }
}
