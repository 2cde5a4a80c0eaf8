import type { Command } from 'commander';
import type { TurnfoldClient } from '../client/index.ts';
import { DEFAULT_REDIS_URL, readConfig } from '../config.ts';
import type { Output } from './output.ts';
import { COMMAND_WAIT_MS, explainError, waitForRedis } from './redis-outage.ts';
import { runCommand } from './run-command.ts';
import type { TypedNames } from './typed-errors.ts';

/**
 * Runs a command with a client of the Redis at `REDIS_URL` and closes the client.
 * @param names fields that the command names differently than the API
 */
export type WithClient = (
  command: Command,
  run: (context: CommandContext) => Promise<number>,
  names?: TypedNames,
) => Promise<void>;

export function createWithClient(output: Output): WithClient {
  return (command, run, names = {}) =>
    runCommand({ command, output, names }, async () => {
      const { redisUrl, redisTls, shards, queueShards, durability } = readConfig();
      const { openClientAtOnce } = await import('../client/open-client.ts');
      const url = redisUrl ?? DEFAULT_REDIS_URL;
      const options = { redisUrl: url, redisTls, shards, queueShards, ...(durability && { durability }) };
      const wait = { location: { url, tls: redisTls }, waitMs: COMMAND_WAIT_MS, output };
      const client = await waitForRedis(wait, () => openClientAtOnce(options)).catch(async (error: unknown) => {
        if (redisUrl === undefined) output.note(`REDIS_URL is not set, so ${DEFAULT_REDIS_URL} was tried`);
        throw await explainError(error, { url, tls: redisTls });
      });
      try {
        return await run({ client, output });
      } finally {
        await client.close();
      }
    });
}

/** Dependencies of commands that use Redis. */
export interface CommandContext {
  readonly client: TurnfoldClient;
  readonly output: Output;
}
