import { type Config, DEFAULT_REDIS_URL } from '../host/config.ts';
import { type Fleet, openFleet } from '../host/health/fleet.ts';

/** Opens the report of the workers and queues that have these settings. */
export async function openConfiguredFleet(config: Config, onError: (error: unknown) => void): Promise<Fleet> {
  const { redisUrl: url = DEFAULT_REDIS_URL, redisTls: tls, prefix, shards, queueShards } = config;
  const { inbox, stuckMs, grafanaUrl } = config;
  return await openFleet({ url, tls, prefix, shards, queueShards, inbox, stuckMs, grafanaUrl, onError });
}
