import type { ConversationRef } from '../../domain/ids.ts';
import { openWakeQueue } from '../../jobs/bullmq/wake-queue.ts';
import { type Inspection, openInspection } from '../../store/inspection.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { DEFAULT_REDIS_URL, readConfig } from '../config.ts';
import type { DoctorOptions } from './doctor.ts';

interface ActiveWork {
  /** Turn workers that are connected to Redis. 0 if the server does not list its clients. */
  readonly turnWorkers: number;
  /** For each agent, one conversation as an example. */
  readonly agents: ReadonlyMap<string, ConversationRef>;
}

/** Looks for work of other processes before this process starts its own workers. Writes nothing. */
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

export interface QuarantineAccess extends Pick<DoctorOptions, 'explain'> {
  /** Repeats `open` while Redis is unreachable. */
  readonly wait: (location: RedisLocation, open: () => Promise<Inspection>) => Promise<Inspection>;
}

/** @throws the error of a Redis outage, with its likely cause */
export async function inspectQuarantine<T>(
  query: (inspection: Inspection, shards: number) => Promise<T>,
  { explain, wait }: QuarantineAccess,
): Promise<T> {
  const { redisUrl: url = DEFAULT_REDIS_URL, redisTls: tls, prefix, shards } = readConfig();
  const location = { url, tls, prefix };
  try {
    const inspection = await wait(location, () => openInspection(location));
    try {
      const database = await inspection.readDatabase();
      if (database?.refusal !== undefined) throw database.refusal;
      return await query(inspection, database?.shards ?? shards);
    } finally {
      inspection.close();
    }
  } catch (error) {
    throw await explain(error, location);
  }
}
