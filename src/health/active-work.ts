import type { ConversationRef } from '../domain/ids.ts';
import { openWakeQueue } from '../queue/wake-queue.ts';
import type { RedisLocation } from '../redis/address.ts';
import { openInspection } from '../store/inspection.ts';

export interface ActiveWork {
  /** Turn workers that are connected now. 0 if the server does not list its clients. */
  readonly turnWorkers: number;
  /** One conversation with pending work for each agent. */
  readonly agents: ReadonlyMap<string, ConversationRef>;
}

/** Finds pending work and connected workers before this process starts its own. Writes nothing. @throws redis_unavailable */
export async function findActiveWork(location: RedisLocation, queueShards: number): Promise<ActiveWork> {
  const inspection = await openInspection(location);
  const wakes = openWakeQueue({ ...location, shards: queueShards, onError: () => undefined, failsFast: true });
  try {
    const database = await inspection.readDatabase();
    const agents = database === undefined ? new Map() : await inspection.listWaitingAgents(database.shards);
    const reports = (await wakes.reportQueues()).filter(({ queue }) => queue === 'turn');
    return { agents, turnWorkers: Math.max(0, ...reports.map(({ workers = 0 }) => workers)) };
  } finally {
    inspection.close();
    await wakes.close();
  }
}
