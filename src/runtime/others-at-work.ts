import type { ConversationRef } from '../domain/ids.ts';
import { openWakeQueue } from '../queue/wake-queue.ts';
import type { RedisLocation } from '../redis/address.ts';
import { openInspection } from '../store/inspection.ts';

/** Whose work a Redis holds already. */
export interface OthersAtWork {
  /** workers that are connected and take turns; 0 where the server does not list its clients */
  readonly turnWorkers: number;
  /** of conversations that a worker has to look at, one for each agent */
  readonly agents: ReadonlyMap<string, ConversationRef>;
}

/** Looks before workers take anything from it; writes nothing. @throws invalid_config, redis_unavailable */
export async function findOthersAtWork(location: RedisLocation, queueShards: number): Promise<OthersAtWork> {
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
