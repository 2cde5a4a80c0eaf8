import type { Command } from 'commander';
import {
  type ConversationOptions,
  readNumber,
  readSeconds,
  withContextOption,
  withConversationOptions,
} from './command-options.ts';
import type { FailedOptions, RedriveOptions } from './commands/failures.ts';
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

type Waiting = ConversationOptions & { readonly wait: number; readonly stream?: boolean };

function withWaitingOptions(command: Command): Command {
  return withConversationOptions(command)
    .option('--wait <seconds>', 'wait so long for the answer; exit code 1 where there is none', readSeconds, 0)
    .option(
      '--stream',
      'print the text while it is written; waits until the turn is settled, or as long as --wait says',
    );
}

function addEnqueueCommand(program: Command, withClient: WithClient): void {
  withContextOption(withWaitingOptions(program.command('enqueue <conversation> <text>')))
    .description('enqueue a turn')
    .requiredOption('--agent <name>', 'agent that answers it (required)')
    .option('--turn <id>', 'id that makes the call repeatable')
    .action(
      (id: string, text: string, { wait, ...options }: Waiting & Omit<EnqueueOptions, 'waitMs'>, command: Command) =>
        withClient(
          command,
          async (context) =>
            (await import('./commands/turns.ts')).enqueue(context, id, text, { ...options, waitMs: wait * 1_000 }),
          { input: 'text' },
        ),
    );
}

function addResultCommand(program: Command, withClient: WithClient): void {
  withWaitingOptions(program.command('result <conversation> <turn>'))
    .description('show a turn as it stands: its answer, why it failed, or what it waits for')
    .action((id: string, turn: string, { wait, ...options }: Waiting, command: Command) =>
      withClient(command, async (context) =>
        (await import('./commands/follow-turn.ts')).tellTurn(context, id, turn, { ...options, waitMs: wait * 1_000 }),
      ),
    );
}

function addOpenTurnsCommand(program: Command, withClient: WithClient): void {
  withConversationOptions(program.command('turns <conversation>'))
    .description('list its turns that are accepted and not settled, in the order in which they will be answered')
    .option('--limit <n>', 'largest number of entries', readNumber, 100)
    .action((id: string, options: OpenOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/turns.ts')).showOpen(context, id, options)),
    );
}

function addAnswerCommands(program: Command, withClient: WithClient): void {
  const answer = withConversationOptions(program.command('answer <conversation> <turn> <call>'))
    .description('bring what a turn waits for: the result of a tool that runs elsewhere, or an approval')
    .option('--content <text>', 'the result')
    .option('--file <path>', 'the result, as a file; - is standard input')
    .option('--error', 'the result says that the tool failed')
    .option('--approve', 'the tool may run')
    .option('--deny [why]', 'it may not');
  answer.action((id: string, turn: string, call: string, options: AnswerOptions) =>
    withClient(answer, async (context) =>
      (await import('./commands/turns.ts')).answer(context, { id, turn, call }, options),
    ),
  );
  withConversationOptions(program.command('cancel <conversation> <turn>'))
    .description('settle a turn as canceled, whether it waits or is at work; the next one goes on')
    .action((id: string, turn: string, options: ConversationOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/turns.ts')).cancel(context, id, turn, options)),
    );
}

function addFailureCommands(program: Command, withClient: WithClient): void {
  program
    .command('failed')
    .description('list failed turns of the last seven days, newest first')
    .option('--code <code>', 'only those that failed with it, e.g. poison')
    .option('--since <when>', 'only newer ones: 90s, 30m, 2h, 7d, or a date')
    .option('--limit <n>', 'largest number of entries', readNumber, 100)
    .option('--tenant <id>', 'only those of one tenant')
    .option('--json', 'print JSON lines, failures too')
    .action((options: FailedOptions, command: Command) =>
      withClient(command, async (context) => (await import('./commands/failures.ts')).showFailed(context, options)),
    );
  withContextOption(withConversationOptions(program.command('redrive <conversation> [turn]')))
    .description('bring the input of a failed turn again, as a new turn; without a turn ask for a pass again')
    .option('--operation <id>', 'another one re-drives the same turn once more')
    .option('--wait <seconds>', 'wait so long for the answer; exit code 1 where there is none', readSeconds, 0)
    .action(
      (
        id: string,
        turn: string | undefined,
        { wait, ...options }: Waiting & Omit<RedriveOptions, 'waitMs'>,
        command: Command,
      ) =>
        withClient(command, async (context) =>
          (await import('./commands/failures.ts')).redrive(context, id, turn, { ...options, waitMs: wait * 1_000 }),
        ),
    );
}
