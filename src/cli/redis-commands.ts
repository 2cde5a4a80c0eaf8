import { type Command, InvalidArgumentError } from 'commander';
import { openClient } from '../client/index.ts';
import { readConfig } from '../config.ts';
import type { CommandContext } from './command-context.ts';
import { enqueue } from './commands/enqueue.ts';
import { showContext, showVersions } from './commands/show.ts';
import { exportConversation, importFile } from './commands/transfer.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

const DEFAULT_REDIS_URL = 'redis://127.0.0.1:6379';

interface CommonOptions {
  readonly tenant: string;
  readonly json: boolean;
}

/** Commands that talk to the Redis of `REDIS_URL`. */
export function addRedisCommands(program: Command, output: Output): void {
  const withClient = (isJson: boolean, command: (context: CommandContext) => Promise<number>): Promise<void> =>
    runCommand(output, isJson, async () => {
      const { redisUrl = DEFAULT_REDIS_URL, shards, queueShards } = readConfig();
      const client = await openClient({ redisUrl, shards, queueShards });
      try {
        return await command({ client, output });
      } finally {
        await client.close();
      }
    });
  const common = (command: Command): Command =>
    command.option('--tenant <id>', 'tenant of the conversation', '_').option('--json', 'print JSON', false);

  common(program.command('enqueue <conversation> <text>'))
    .description('enqueue a turn')
    .requiredOption('--agent <name>', 'agent that answers it')
    .option('--turn <id>', 'id that makes the call repeatable')
    .option('--wait <seconds>', 'wait so long for the answer', readSeconds, 0)
    .action(
      (
        id: string,
        text: string,
        { wait, ...options }: CommonOptions & { agent: string; turn?: string; wait: number },
      ) => withClient(options.json, (context) => enqueue(context, id, text, { ...options, waitMs: wait * 1_000 })),
    );
  common(program.command('show <conversation>'))
    .description('show what the agent still knows')
    .option('--version <n>', 'a kept version instead of the live one', readNumber)
    .option('--full', 'whole messages instead of their first line', false)
    .action((id: string, options: CommonOptions & { version?: number; full: boolean }) =>
      withClient(options.json, (context) => showContext(context, id, options)),
    );
  common(program.command('versions <conversation>'))
    .description('list the kept versions, oldest first')
    .action((id: string, options: CommonOptions) =>
      withClient(options.json, (context) => showVersions(context, id, options)),
    );
  common(program.command('import <file>'))
    .description('append the conversations of a JSONL file to new logs')
    .requiredOption('--agent <name>', 'agent of the conversations')
    .action((file: string, options: CommonOptions & { agent: string }) =>
      withClient(options.json, (context) => importFile(context, file, options)),
    );
  common(program.command('export <conversation>'))
    .description('print the whole log, archived messages included, as one JSONL line')
    .action((id: string, options: CommonOptions) =>
      withClient(true, (context) => exportConversation(context, id, options)),
    );
}

function readNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('expected a whole number.');
  return value;
}

function readSeconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0)) throw new InvalidArgumentError('expected a number of seconds.');
  return value;
}
