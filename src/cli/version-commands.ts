import type { Command } from 'commander';
import { type ConversationOptions, readNumber, readSeconds, withConversationOptions } from './command-options.ts';
import type { ForkOptions } from './commands/conversation.ts';
import type { ApproveOptions, RejectOptions } from './commands/proposals.ts';
import type { ReplacementOptions, RestoreOptions } from './commands/restore.ts';
import type { ContextOptions } from './commands/show.ts';
import type { WithClient } from './with-client.ts';

/** Commands about the versions of a conversation: the live one, kept ones and proposals. */
export function addVersionCommands(program: Command, withClient: WithClient): void {
  addReadCommands(program, withClient);
  addReplacingCommands(program, withClient);
  addReviewCommands(program, withClient);
}

function addReadCommands(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('show <conversation>'))
    .description('show the context that the model would get')
    .option('--version <n>', 'show this kept version instead of the live one', readNumber)
    .option('--full', 'print whole messages instead of one line each')
    .action((id: string, options: ContextOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/show.ts')).showContext(context, id, options)),
    );
  withConversationOptions(program.command('versions <conversation>'))
    .description('list the kept versions of a conversation, oldest first')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/show.ts')).showVersions(context, id, options)),
    );
  const diff = withConversationOptions(program.command('diff <conversation>'))
    .description('show how the context changed from one version to another')
    .argument('<from>', 'number of a kept version (0 is the whole log)', readNumber)
    .argument('<to>', 'number of another kept version', readNumber);
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
    .description('make a kept version the live one')
    .requiredOption('--version <n>', 'number of the kept version, 0 for the whole log (required)', readNumber)
    .option('--keep', 'keep newer messages in the context (--keep or --drop is required)')
    .option('--drop', 'archive newer messages, except pins')
    .action((id: string, options: RestoreOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/restore.ts')).runRestore(context, id, options)),
    );
  withReplacementOptions(program.command('rollback <conversation> <turn>'))
    .description('archive a settled turn and everything after it')
    .action((id: string, turn: string, options: ReplacementOptions, command: Command) =>
      withClient(
        command,
        async (context) => (await import('./commands/restore.ts')).rollBack(context, id, turn, options),
        { version: 'turn' },
      ),
    );
  withConversationOptions(program.command('fork <conversation> <new>'))
    .description('copy a conversation into a new one (the same command resumes an interrupted copy)')
    .option('--version <n>', 'copy the context of this kept version instead of the live one', readNumber)
    .option('--head <seq>', 'copy messages up to this seq instead of all', readNumber)
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

const OPERATION = 'operation id: the same id again changes nothing';

function withReplacementOptions(command: Command): Command {
  return withConversationOptions(command)
    .option('--operation <id>', OPERATION)
    .option('--agents <module>', 'module that exports `agents`: refuse a context over the hard limit of the agent')
    .option('--policy <file>', 'policy file (YAML) of the workers');
}

function addReviewCommands(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('proposal <conversation>'))
    .description('show the proposal that waits for approval')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/proposals.ts')).showProposal(context, id, options),
      ),
    );
  withDecisionOptions(program.command('approve <conversation>'))
    .description('approve a proposal, so that a worker commits it')
    .option('--edits <file>', 'file with replacement texts for summaries by range (YAML or JSON)')
    .action((id: string, options: ApproveOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/proposals.ts')).approve(context, id, options)),
    );
  withDecisionOptions(program.command('reject <conversation>'))
    .description('reject a proposal, which ends its pass')
    .option('--reason <text>', 'reason, kept for a day among the events of the conversation')
    .action((id: string, options: RejectOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/proposals.ts')).reject(context, id, options)),
    );
}

function withDecisionOptions(command: Command): Command {
  return withConversationOptions(command)
    .option('--proposal <id>', 'proposal id: fail if another proposal waits by now')
    .option('--operation <id>', `${OPERATION} and reports the outcome`)
    .option('--wait <seconds>', 'wait this long for a worker to act (exit code 1 if none does)', readSeconds, 10);
}
