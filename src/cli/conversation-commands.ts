import type { Command } from 'commander';
import { type ConversationOptions, readNumber, withConversationOptions } from './command-options.ts';
import type { ConversationsOptions, WaitingOptions } from './commands/conversations.ts';
import type { EventsOptions } from './commands/events.ts';
import type { WithClient } from './with-client.ts';

/** Commands about a conversation as a whole. */
export function addConversationCommands(program: Command, withClient: WithClient): void {
  addListCommands(program, withClient);
  withConversationOptions(program.command('describe <conversation>'))
    .description(
      'show its agent, how long it is, what of it is sent, its open calls and the pass in progress; no messages',
    )
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/conversation.ts')).describe(context, id, options),
      ),
    );
  withConversationOptions(program.command('events <conversation>'))
    .description('list what was settled, waited for, committed, proposed and decided within the last day, oldest first')
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
      withClient(command, async (context) => (await import('./commands/conversation.ts')).erase(context, id, options)),
    );
}

/** Lists over all conversations. */
function addListCommands(program: Command, withClient: WithClient): void {
  withListOptions(program.command('conversations'))
    .description('list conversations with their states, a page at a time')
    .option('--agent <name>', 'only those of one agent')
    .option('--state <state>', 'only those that are idle, queued, running, waiting or failed')
    .action((options: ConversationsOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/conversations.ts')).showConversations(context, options),
      ),
    );
  withListOptions(program.command('waiting'))
    .description('list turns of all conversations that wait for a result from outside or for a decision')
    .option('--for <kind>', 'only those that wait for tools, or for approval')
    .action((options: WaitingOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/conversations.ts')).showWaiting(context, options),
      ),
    );
}

function withListOptions(command: Command): Command {
  return command
    .option('--tenant <id>', 'only those of one tenant')
    .option('--after <place>', 'go on where an earlier list ended')
    .option('--limit <n>', 'largest number of entries', readNumber, 100)
    .option('--json', 'print JSON lines, failures too');
}
