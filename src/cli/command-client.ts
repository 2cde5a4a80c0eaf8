import type { OpenClient } from '../api/client/index.ts';
import { openClientAtOnce } from '../api/client/open-client.ts';
import { DEFAULT_REDIS_URL, readConfig } from '../host/config.ts';
import type { Output } from './output.ts';
import { COMMAND_WAIT_MS, explainOutage, waitForRedis } from './redis-outage.ts';

/** Opens a client of the Redis at REDIS_URL. @throws redis_unavailable after 5 s, with the likely cause */
export async function openCommandClient(output: Output): Promise<OpenClient> {
  const { redisUrl, redisTls, prefix, shards, queueShards, durability } = readConfig();
  const url = redisUrl ?? DEFAULT_REDIS_URL;
  const location = { url, tls: redisTls, prefix };
  const open = () => openClientAtOnce({ redisUrl: url, redisTls, prefix, shards, queueShards, durability });
  return await waitForRedis({ location, waitMs: COMMAND_WAIT_MS, output }, open).catch(async (error: unknown) => {
    if (redisUrl === undefined)
      output.note(`REDIS_URL is not set, so ${DEFAULT_REDIS_URL} was tried (turnfold dev needs no Redis)`);
    throw await explainOutage(error, location);
  });
}
