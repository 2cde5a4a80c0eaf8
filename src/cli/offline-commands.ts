import { type Command, InvalidArgumentError } from 'commander';
import type { CompactOptions } from './commands/compact.ts';
import type { ReplayOptions } from './commands/replay.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

const FORMATS = 'anthropic, openai-chat or openai-responses';

/** Commands that need no Redis. Only `compact` calls models, if its policy names summarizers. */
export function addOfflineCommands(program: Command, output: Output): void {
  addPassCommands(program, output);
  addWireCommands(program, output);
}

/** Passes over recorded conversations. */
function addPassCommands(program: Command, output: Output): void {
  program
    .command('plan <file>')
    .description('show the plan of a pass for each conversation of a JSONL file (- is standard input)')
    .option('--policy <file>', 'policy file (YAML)')
    .option('--json', 'print one JSON line per conversation, errors included')
    .action((file: string, options: { policy?: string; json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/plan.ts')).planFile(file, options, output)),
    );
  program
    .command('compact <file>')
    .description('compact each conversation of a JSONL file once and report the result (- is standard input)')
    .option('--policy <file>', 'policy file (YAML). Its summarizer models are called and cost money')
    .option('--summarizer <name>', 'only `structural`: call no model, whatever the policy says')
    .option('--window <tokens>', 'maximum tokens of a request', readTokens)
    .option('--json', 'print one JSON line per conversation with its messages, errors included')
    .action((file: string, options: CompactOptions, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/compact.ts')).compactFile(file, options, output),
      ),
    );
  program
    .command('replay <file>')
    .description('replay each conversation of a JSONL file and compact it as workers would (- is standard input)')
    .option('--policy <file>', 'policy file (YAML)')
    .option('--against <file>', 'second policy file (YAML) to compare with')
    .option('--window <tokens>', 'maximum tokens of a request (default: twice maxTokens)', readTokens)
    .option('--model <name>', 'provider/model of the catalogue, for window, tokenizer and prices')
    .option('--json', 'print one JSON line per conversation, errors included')
    .action((file: string, options: ReplayOptions, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/replay.ts')).replayFile(file, options, output),
      ),
    );
}

function addWireCommands(program: Command, output: Output): void {
  program
    .command('tokens <file>')
    .description('count the tokens of a text file (- is standard input)')
    .option('--encoding <name>', 'o200k_base or cl100k_base', 'o200k_base')
    .option('--json', 'print JSON')
    .action((file: string, options: { encoding: string; json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/wire.ts')).countFile(file, options, output),
      ),
    );
  program
    .command('render <file>')
    .description('print the provider request for each conversation of a JSONL file (- is standard input)')
    .requiredOption('--format <name>', FORMATS)
    .option('--model <name>', "provider's name of the model (default: the one that answered last)")
    .option('--system <text>', 'system prompt of the agent')
    .action((file: string, options: { format: string; model?: string; system?: string }, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/wire.ts')).renderFile(file, options, output),
      ),
    );
  program
    .command('validate <file>')
    .description('list the format rules that a request body breaks (exit code 1 if any, - is standard input)')
    .requiredOption('--format <name>', FORMATS)
    .option('--json', 'print JSON')
    .action((file: string, options: { format: string; json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/wire.ts')).validateFile(file, options, output),
      ),
    );
}

function readTokens(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('Expected a whole number of 1 or more.');
  return value;
}
