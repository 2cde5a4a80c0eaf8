import type { Command } from 'commander';
import { type ConversationOptions, withConversationOptions } from './command-options.ts';
import type { EventsOptions } from './commands/events.ts';
import type { WithClient } from './with-client.ts';

/** Commands about a conversation as a whole. */
export function addConversationCommands(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('describe <conversation>'))
    .description('show its agent, how long it is, what of it is sent, and the pass in progress; no messages')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/describe.ts')).describe(context, id, options)),
    );
  withConversationOptions(program.command('events <conversation>'))
    .description('list what was settled, committed, proposed and decided within the last day, oldest first')
    .option('--after <id>', 'only what comes after this event')
    .option('--follow', 'go on with what comes')
    .action((id: string, options: EventsOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/events.ts')).showEvents(context, id, options)),
    );
  withConversationOptions(program.command('import <file>'))
    .description('append the conversations of a JSONL file to new logs')
    .requiredOption('--agent <name>', 'agent of the conversations (required)')
    .action((file: string, options: ConversationOptions & { agent: string }, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/transfer.ts')).importFile(context, file, options, command),
      ),
    );
  withConversationOptions(program.command('export <conversation>'))
    .description('print the whole log, archived messages included, as one JSONL line')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/transfer.ts')).exportConversation(context, id, options),
      ),
    );
  withConversationOptions(program.command('erase <conversation>'))
    .description('remove it for good: log, versions, turns, summaries')
    .requiredOption('--yes', 'nothing brings it back (required)')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/erase.ts')).erase(context, id, options)),
    );
}
