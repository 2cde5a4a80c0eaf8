import type { Command } from 'commander';
import { type ConversationOptions, readNumber, withConversationOptions } from './command-options.ts';
import type { ConversationsOptions, WaitingOptions } from './commands/conversations.ts';
import type { EventsOptions } from './commands/events.ts';
import type { WithClient } from './with-client.ts';

/** Commands about a conversation as a whole. */
export function addConversationCommands(program: Command, withClient: WithClient): void {
  addListCommands(program, withClient);
  withConversationOptions(program.command('describe <conversation>'))
    .description('show agent, size, live version, open turns and the pass in progress (without messages)')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/conversation.ts')).describe(context, id, options),
      ),
    );
  withConversationOptions(program.command('events <conversation>'))
    .description('list the events of the last day (turns, versions, proposals), oldest first')
    .option('--after <id>', 'only events after this one')
    .option('--follow', 'keep printing new events until interrupted')
    .action((id: string, options: EventsOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/events.ts')).showEvents(context, id, options)),
    );
  withConversationOptions(program.command('import <file>'))
    .description('create a conversation from each line of a JSONL file')
    .requiredOption('--agent <name>', 'agent of the new conversations (required)')
    .action((file: string, options: ConversationOptions & { agent: string }, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/transfer.ts')).importFile(context, file, options, command),
      ),
    );
  withConversationOptions(program.command('export <conversation>'))
    .description('print the whole log as one JSONL line, archived messages included')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/transfer.ts')).exportConversation(context, id, options),
      ),
    );
  withConversationOptions(program.command('erase <conversation>'))
    .description('delete a conversation permanently: log, versions, turns and summaries')
    .requiredOption('--yes', 'confirm that the conversation cannot be recovered (required)')
    .action((id: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/conversation.ts')).erase(context, id, options)),
    );
}

/** Lists of all conversations. */
function addListCommands(program: Command, withClient: WithClient): void {
  withListOptions(program.command('conversations'))
    .description('list conversations with their states')
    .option('--agent <name>', 'only conversations of this agent')
    .option('--state <state>', 'only conversations in this state: idle, queued, running, waiting or failed')
    .action((options: ConversationsOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/conversations.ts')).showConversations(context, options),
      ),
    );
  withListOptions(program.command('waiting'))
    .description('list turns of all conversations that wait for a tool result or an approval')
    .option('--for <kind>', 'only turns that wait for `tools` or for `approval`')
    .action((options: WaitingOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/conversations.ts')).showWaiting(context, options),
      ),
    );
}

function withListOptions(command: Command): Command {
  return command
    .option('--tenant <id>', 'only entries of this tenant (default: all tenants)')
    .option('--after <place>', 'continue after the place where an earlier list ended')
    .option('--limit <n>', 'maximum number of entries', readNumber, 100)
    .option('--json', 'print JSON lines, errors included');
}
