import type { Command } from 'commander';
import {
  type ConversationOptions,
  readNumber,
  readSeconds,
  withContextOption,
  withConversationOptions,
} from './command-options.ts';
import type { FailedOptions, RedriveOptions } from './commands/failures.ts';
import type { FollowOptions } from './commands/follow-turn.ts';
import type { AnswerOptions, EnqueueOptions, OpenOptions } from './commands/turns.ts';
import type { WithClient } from './with-client.ts';

/** Commands about turns. */
export function addTurnCommands(program: Command, withClient: WithClient): void {
  addEnqueueCommand(program, withClient);
  addResultCommand(program, withClient);
  addOpenTurnsCommand(program, withClient);
  addAnswerCommands(program, withClient);
  addFailureCommands(program, withClient);
}

function withWaitingOptions(command: Command): Command {
  return withConversationOptions(command)
    .option('--wait <seconds>', 'wait this long for the answer (exit code 1 if there is none)', readSeconds, 0)
    .option('--stream', 'print the text while the model writes it, until the turn settles or --wait is over');
}

function addEnqueueCommand(program: Command, withClient: WithClient): void {
  withContextOption(withWaitingOptions(program.command('enqueue <conversation> <text>')))
    .description('enqueue a turn, and wait for its answer if --wait or --stream is given')
    .requiredOption('--agent <name>', 'agent that answers the turn (required)')
    .option('--turn <id>', 'turn id: the same id again returns the same turn')
    .action((id: string, text: string, options: EnqueueOptions, command: Command) =>
      withClient(
        command,
        async (context) => (await import('./commands/turns.ts')).enqueue(context, id, text, options),
        { input: 'text' },
      ),
    );
}

function addResultCommand(program: Command, withClient: WithClient): void {
  withWaitingOptions(program.command('result <conversation> <turn>'))
    .description('show the state of a turn: its answer, its failure or the calls that it waits for')
    .action((id: string, turn: string, options: FollowOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/follow-turn.ts')).showTurn(context, id, turn, options),
      ),
    );
}

function addOpenTurnsCommand(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('turns <conversation>'))
    .description('list the open turns of a conversation in the order of execution')
    .option('--limit <n>', 'maximum number of entries', readNumber, 100)
    .action((id: string, options: OpenOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/turns.ts')).showOpen(context, id, options)),
    );
}

function addAnswerCommands(program: Command, withClient: WithClient): void {
  const answer = withConversationOptions(program.command('answer <conversation> <turn> <call>'))
    .description('answer a call that a turn waits for, with a tool result or an approval')
    .option('--content <text>', 'result of the tool')
    .option('--file <path>', 'file with the result of the tool (- is standard input)')
    .option('--error', 'mark the result as an error of the tool')
    .option('--approve', 'allow the call')
    .option('--deny [why]', 'deny the call');
  answer.action((id: string, turn: string, call: string, options: AnswerOptions) =>
    withClient(answer, async (context) =>
      (await import('./commands/turns.ts')).answer(context, { id, turn, call }, options),
    ),
  );
  withConversationOptions(program.command('cancel <conversation> <turn>'))
    .description('cancel an open turn, even while it runs')
    .action((id: string, turn: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/turns.ts')).cancel(context, id, turn, options)),
    );
}

function addFailureCommands(program: Command, withClient: WithClient): void {
  program
    .command('failed')
    .description('list the failed turns of the last seven days, newest first')
    .option('--code <code>', 'only turns that failed with this error code, such as poison')
    .option('--since <when>', 'only turns that failed since then: 90s, 30m, 2h, 7d or a date')
    .option('--limit <n>', 'maximum number of entries', readNumber, 100)
    .option('--tenant <id>', 'only turns of this tenant (default: all tenants)')
    .option('--json', 'print JSON lines, errors included')
    .action((options: FailedOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/failures.ts')).showFailed(context, options)),
    );
  withContextOption(withConversationOptions(program.command('redrive <conversation> [turn]')))
    .description('enqueue the input of a failed turn as a new turn, or request a pass if no turn is named')
    .option('--operation <id>', 'operation id: a new id re-drives the same turn once more')
    .option('--wait <seconds>', 'wait this long for the answer (exit code 1 if there is none)', readSeconds, 0)
    .action((id: string, turn: string | undefined, options: RedriveOptions, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/failures.ts')).redrive(context, id, turn, options),
      ),
    );
}
