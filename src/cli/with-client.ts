import { DEFAULT_REDIS_URL, readConfig } from '../config.ts';
import type { CommandContext } from './command-context.ts';
import { explainError } from './explain-outage.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Runs a command with a client of the Redis of `REDIS_URL`, which is closed afterwards. */
export type WithClient = (
  isJson: boolean | undefined,
  command: (context: CommandContext) => Promise<number>,
) => Promise<void>;

export function createWithClient(output: Output): WithClient {
  return (isJson, command) =>
    runCommand(output, isJson, async () => {
      const { redisUrl, redisTls, shards, queueShards, durability } = readConfig();
      const { openClient } = await import('../client/index.ts');
      const url = redisUrl ?? DEFAULT_REDIS_URL;
      const client = await openClient({
        redisUrl: url,
        redisTls,
        shards,
        queueShards,
        ...(durability && { durability }),
      }).catch(async (error: unknown) => {
        if (redisUrl === undefined) output.note(`REDIS_URL is not set: ${DEFAULT_REDIS_URL} was tried`);
        throw await explainError(error, { url, tls: redisTls });
      });
      try {
        return await command({ client, output });
      } finally {
        await client.close();
      }
    });
}
