import { type Command, InvalidArgumentError } from 'commander';
import { DEFAULT_REDIS_URL, readConfig } from '../config.ts';
import type { CommandContext } from './command-context.ts';
import type { FailedOptions } from './commands/failures.ts';
import type { ForkOptions } from './commands/fork.ts';
import type { LimitOptions, RestoreOptions } from './commands/restore.ts';
import type { ReadOptions } from './commands/show.ts';
import { explainError } from './explain-outage.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

type WithClient = (isJson: boolean | undefined, command: (context: CommandContext) => Promise<number>) => Promise<void>;

/** Commands that talk to the Redis of `REDIS_URL`. */
export function addRedisCommands(program: Command, output: Output): void {
  const withClient: WithClient = (isJson, command) =>
    runCommand(output, isJson, async () => {
      const { redisUrl, shards, queueShards, durability } = readConfig();
      const { openClient } = await import('../client/index.ts');
      const url = redisUrl ?? DEFAULT_REDIS_URL;
      const client = await openClient({ redisUrl: url, shards, queueShards, ...(durability && { durability }) }).catch(
        async (error: unknown) => {
          if (redisUrl === undefined) output.note(`REDIS_URL is not set: ${DEFAULT_REDIS_URL} was tried`);
          throw await explainError(error, url);
        },
      );
      try {
        return await command({ client, output });
      } finally {
        await client.close();
      }
    });
  addTurnCommand(program, withClient);
  addFailureCommands(program, withClient);
  addReadCommands(program, withClient);
  addDiffCommand(program, withClient);
  addVersionCommands(program, withClient);
  addReviewCommands(program, withClient);
  addTransferCommands(program, withClient);
}

type EnqueueArguments = ReadOptions & { agent: string; turn?: string; wait: number; stream?: boolean };

function addTurnCommand(program: Command, withClient: WithClient): void {
  withCommonOptions(program.command('enqueue <conversation> <text>'))
    .description('enqueue a turn')
    .requiredOption('--agent <name>', 'agent that answers it (required)')
    .option('--turn <id>', 'id that makes the call repeatable')
    .option('--wait <seconds>', 'wait so long for the answer; exit code 1 where there is none', readSeconds, 0)
    .option(
      '--stream',
      'print the text while it is written; waits until the turn is settled, or as long as --wait says',
    )
    .action((id: string, text: string, options: EnqueueArguments) =>
      withClient(options.json, async (context) => {
        const { wait, ...others } = options;
        const { enqueue } = await import('./commands/enqueue.ts');
        return await enqueue(context, id, text, { ...others, waitMs: wait * 1_000 });
      }),
    );
}

function addFailureCommands(program: Command, withClient: WithClient): void {
  program
    .command('failed')
    .description('list failed turns of the last seven days, newest first')
    .option('--code <code>', 'only those that failed with it, e.g. poison')
    .option('--since <when>', 'only newer ones: 90s, 30m, 2h, 7d, or a date')
    .option('--limit <n>', 'so many at most', readNumber, 100)
    .option('--tenant <id>', 'only those of one tenant')
    .option('--json', 'print JSON lines, failures too')
    .action((options: FailedOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/failures.ts')).showFailed(context, options),
      ),
    );
  withCommonOptions(program.command('redrive <conversation> [turn]'))
    .description('bring the input of a failed turn again, as a new turn; without a turn ask for a pass again')
    .option('--operation <id>', 'another one re-drives the same turn once more')
    .option('--wait <seconds>', 'wait so long for the answer; exit code 1 where there is none', readSeconds, 0)
    .action((id: string, turn: string | undefined, { wait, ...options }: RedriveArguments) =>
      withClient(options.json, async (context) =>
        (await import('./commands/failures.ts')).redrive(context, id, turn, { ...options, waitMs: wait * 1_000 }),
      ),
    );
}

type RedriveArguments = ReadOptions & { operation?: string; wait: number };

function addReadCommands(program: Command, withClient: WithClient): void {
  withCommonOptions(program.command('show <conversation>'))
    .description('show what the agent still knows')
    .option('--version <n>', 'a kept version instead of the live one', readNumber)
    .option('--full', 'whole messages instead of one line of each')
    .action((id: string, options: ReadOptions & { version?: number; full?: boolean }) =>
      withClient(options.json, async (context) =>
        (await import('./commands/show.ts')).showContext(context, id, options),
      ),
    );
  withCommonOptions(program.command('versions <conversation>'))
    .description('list the kept versions, oldest first')
    .action((id: string, options: ReadOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/show.ts')).showVersions(context, id, options),
      ),
    );
}

function addDiffCommand(program: Command, withClient: WithClient): void {
  withCommonOptions(program.command('diff <conversation>'))
    .description('show what changed in the context from one version to another')
    .argument('<from>', 'a kept version; 0 is the whole log', readNumber)
    .argument('<to>', 'another', readNumber)
    .action((id: string, from: number, to: number, options: ReadOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/show.ts')).showDiff(context, id, { ...options, from, to }),
      ),
    );
}

function addVersionCommands(program: Command, withClient: WithClient): void {
  withLimitOptions(program.command('restore <conversation>'))
    .description('show the agent an old version again')
    .requiredOption('--version <n>', 'a kept version; 0 is the whole log (required)', readNumber)
    .option('--keep', 'everything newer stays as it is (this or --drop is required)')
    .option('--drop', 'everything newer is archived, but for pins')
    .action((id: string, options: RestoreOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/restore.ts')).restore(context, id, options),
      ),
    );
  withLimitOptions(program.command('rollback <conversation> <turn>'))
    .description('make the context as it was before a settled turn: that turn and everything behind it are archived')
    .action((id: string, turn: string, options: LimitOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/restore.ts')).rollBack(context, id, turn, options),
      ),
    );
  withCommonOptions(program.command('fork <conversation> <new>'))
    .description('copy a conversation into a new one; called again after it was cut off, it goes on')
    .option('--version <n>', 'as a kept version shows it, instead of the live one', readNumber)
    .option('--head <seq>', 'up to this message, instead of the last', readNumber)
    .action((id: string, newId: string, options: ForkOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/fork.ts')).fork(context, id, newId, options),
      ),
    );
}

type DecisionArguments = ReadOptions & { proposal?: string; wait: number };

function addReviewCommands(program: Command, withClient: WithClient): void {
  withCommonOptions(program.command('proposal <conversation>'))
    .description('show what a pass under review would commit')
    .action((id: string, options: ReadOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/proposals.ts')).showProposal(context, id, options),
      ),
    );
  withDecisionOptions(program.command('approve <conversation>'))
    .description('have a proposal committed')
    .option('--edits <file>', 'other texts for its checkpoints, by range, as YAML or JSON')
    .action((id: string, { wait, ...options }: DecisionArguments & { edits?: string }) =>
      withClient(options.json, async (context) =>
        (await import('./commands/proposals.ts')).approve(context, id, { ...options, waitMs: wait * 1_000 }),
      ),
    );
  withDecisionOptions(program.command('reject <conversation>'))
    .description('end the pass that made a proposal')
    .option('--reason <text>', "why; kept with the conversation's events for a day")
    .action((id: string, { wait, ...options }: DecisionArguments & { reason?: string }) =>
      withClient(options.json, async (context) =>
        (await import('./commands/proposals.ts')).reject(context, id, { ...options, waitMs: wait * 1_000 }),
      ),
    );
}

function withDecisionOptions(command: Command): Command {
  return withCommonOptions(command)
    .option('--proposal <id>', 'refuse where another one waits by now')
    .option('--wait <seconds>', 'wait so long for a worker to act on it; exit code 1 where none does', readSeconds, 10);
}

function addTransferCommands(program: Command, withClient: WithClient): void {
  withCommonOptions(program.command('import <file>'))
    .description('append the conversations of a JSONL file to new logs')
    .requiredOption('--agent <name>', 'agent of the conversations (required)')
    .action((file: string, options: ReadOptions & { agent: string }) =>
      withClient(options.json, async (context) =>
        (await import('./commands/transfer.ts')).importFile(context, file, options),
      ),
    );
  withCommonOptions(program.command('export <conversation>'))
    .description('print the whole log, archived messages included, as one JSONL line')
    .action((id: string, options: ReadOptions) =>
      withClient(options.json, async (context) =>
        (await import('./commands/transfer.ts')).exportConversation(context, id, options),
      ),
    );
}

function withLimitOptions(command: Command): Command {
  return withCommonOptions(command)
    .option('--agents <module>', 'refuse what is over the hard limit of the agent in this module')
    .option('--policy <file>', 'policy as YAML, as the workers have it');
}

function withCommonOptions(command: Command): Command {
  return command
    .option('--tenant <id>', 'tenant of the conversation', '_')
    .option('--json', 'print JSON, failures too');
}

function readNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0) {
    throw new InvalidArgumentError('expected a whole number.');
  }
  return value;
}

function readSeconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0)) throw new InvalidArgumentError('expected a number of seconds.');
  return value;
}
