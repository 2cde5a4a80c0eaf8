import { type Inspection, openInspection } from '../../store/inspection.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { DEFAULT_REDIS_URL, readConfig, readEnvironment } from '../config.ts';
import type { DoctorOptions } from './doctor.ts';

export interface QuarantineAccess extends Pick<DoctorOptions, 'explain'> {
  /** Calls `open`, and repeats the call while Redis is unreachable. */
  readonly wait: (location: RedisLocation, open: () => Promise<Inspection>) => Promise<Inspection>;
}

/**
 * Connects to the Redis of the settings and calls `query` with that connection.
 * @throws the error of an outage, with its likely cause
 */
export async function inspectQuarantine<T>(
  query: (inspection: Inspection, shards: number) => Promise<T>,
  { explain, wait }: QuarantineAccess,
): Promise<T> {
  const { env, readFile } = readEnvironment();
  const { redisUrl: url = DEFAULT_REDIS_URL, redisTls: tls, prefix, shards } = readConfig(env, readFile);
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
