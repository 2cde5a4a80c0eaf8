import type { Command } from 'commander';
import { type ConversationOptions, readNumber, readSeconds, withConversationOptions } from './command-options.ts';
import type { ForkOptions } from './commands/conversation.ts';
import type { DecisionOptions } from './commands/proposals.ts';
import type { ReplacementOptions, RestoreOptions } from './commands/restore.ts';
import type { WithClient } from './with-client.ts';

/** Commands about a conversation's versions: those that are, that were, and that wait for somebody's approval. */
export function addVersionCommands(program: Command, withClient: WithClient): void {
  addReadCommands(program, withClient);
  addReplacingCommands(program, withClient);
  addReviewCommands(program, withClient);
}

function addReadCommands(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('show <conversation>'))
    .description('show what the agent still knows')
    .option('--version <n>', 'a kept version instead of the live one', readNumber)
    .option('--full', 'whole messages instead of one line of each')
    .action((id: string, options: ConversationOptions & { version?: number; full?: boolean }, command: Command) =>
      withClient(command, async (context) => (await import('./commands/show.ts')).showContext(context, id, options)),
    );
  withConversationOptions(program.command('versions <conversation>'))
    .description('list the kept versions, oldest first')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/show.ts')).showVersions(context, id, options)),
    );
  const diff = withConversationOptions(program.command('diff <conversation>'))
    .description('show what changed in the context from one version to another')
    .argument('<from>', 'a kept version; 0 is the whole log', readNumber)
    .argument('<to>', 'another', readNumber);
  diff.action((id: string, from: number, to: number, options: ConversationOptions) =>
    withClient(
      diff,
      async (context) => (await import('./commands/show.ts')).showDiff(context, id, { ...options, from, to }),
      { before: 'from', after: 'to' },
    ),
  );
}

function addReplacingCommands(program: Command, withClient: WithClient): void {
  withReplacementOptions(program.command('restore <conversation>'))
    .description('show the agent an old version again')
    .requiredOption('--version <n>', 'a kept version; 0 is the whole log (required)', readNumber)
    .option('--keep', 'everything newer stays as it is (this or --drop is required)')
    .option('--drop', 'everything newer is archived, but for pins')
    .action((id: string, options: RestoreOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/restore.ts')).runRestore(context, id, options)),
    );
  withReplacementOptions(program.command('rollback <conversation> <turn>'))
    .description('make the context as it was before a settled turn: that turn and everything behind it are archived')
    .action((id: string, turn: string, options: ReplacementOptions, command: Command) =>
      withClient(
        command,
        async (context) => (await import('./commands/restore.ts')).rollBack(context, id, turn, options),
        { version: 'turn' },
      ),
    );
  withConversationOptions(program.command('fork <conversation> <new>'))
    .description('copy a conversation into a new one; called again after it was cut off, it goes on')
    .option('--version <n>', 'as a kept version shows it, instead of the live one', readNumber)
    .option('--head <seq>', 'up to this message, instead of the last', readNumber)
    .action((id: string, newId: string, options: ForkOptions, command: Command) =>
      withClient(
        command,
        async (context) => (await import('./commands/conversation.ts')).fork(context, id, newId, options),
        {
          from: 'conversation',
          to: 'new',
        },
      ),
    );
}

const OPERATION = 'id that makes the call repeatable: the same one again changes nothing';

function withReplacementOptions(command: Command): Command {
  return withConversationOptions(command)
    .option('--operation <id>', OPERATION)
    .option('--agents <module>', 'refuse what is over the hard limit of the agent in this module')
    .option('--policy <file>', 'policy as YAML, as the workers have it');
}

type DecisionArguments = Omit<DecisionOptions, 'waitMs'> & { wait: number };

function addReviewCommands(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('proposal <conversation>'))
    .description('show what a pass under review would commit')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/proposals.ts')).showProposal(context, id, options),
      ),
    );
  withDecisionOptions(program.command('approve <conversation>'))
    .description('have a proposal committed')
    .option('--edits <file>', 'other texts for its summaries, by range, as YAML or JSON')
    .action((id: string, { wait, ...options }: DecisionArguments & { edits?: string }, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/proposals.ts')).approve(context, id, { ...options, waitMs: wait * 1_000 }),
      ),
    );
  withDecisionOptions(program.command('reject <conversation>'))
    .description('end the pass that made a proposal')
    .option('--reason <text>', "why; kept with the conversation's events for a day")
    .action((id: string, { wait, ...options }: DecisionArguments & { reason?: string }, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/proposals.ts')).reject(context, id, { ...options, waitMs: wait * 1_000 }),
      ),
    );
}

function withDecisionOptions(command: Command): Command {
  return withConversationOptions(command)
    .option('--proposal <id>', 'refuse where another one waits by now')
    .option('--operation <id>', `${OPERATION}, and tells what came of it`)
    .option('--wait <seconds>', 'wait so long for a worker to act on it; exit code 1 where none does', readSeconds, 10);
}
