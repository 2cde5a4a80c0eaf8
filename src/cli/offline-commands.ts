import { type Command, InvalidArgumentError } from 'commander';
import type { CompactOptions } from './commands/compact.ts';
import type { ReplayOptions } from './commands/replay.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

const FORMATS = 'anthropic, openai-chat or openai-responses';

/** Commands that need no Redis; of them `compact` alone calls models, where its policy names some. */
export function addOfflineCommands(program: Command, output: Output): void {
  addPassCommands(program, output);
  addWireCommands(program, output);
}

/** What passes would do, tried on recorded conversations. */
function addPassCommands(program: Command, output: Output): void {
  program
    .command('plan <file>')
    .description('show what a pass would do with each conversation of a JSONL file')
    .option('--policy <file>', 'policy as YAML')
    .option('--json', 'one JSON line per conversation, failures too')
    .action((file: string, options: { policy?: string; json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/plan.ts')).planFile(file, options, output)),
    );
  program
    .command('compact <file>')
    .description('compact each conversation of a JSONL file once and tell what came of it; - is standard input')
    .option('--policy <file>', 'policy as YAML; the models that it names as summarizers are called, and cost money')
    .option('--summarizer <name>', 'structural: without a model, whatever the policy names')
    .option('--window <tokens>', 'most tokens of a request', readTokens)
    .option('--json', 'one JSON line per conversation, with what would be sent; failures too')
    .action((file: string, options: CompactOptions, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/compact.ts')).compactFile(file, options, output),
      ),
    );
  program
    .command('replay <file>')
    .description(
      'live each conversation of a JSONL file through again, compacting as workers would; - is standard input',
    )
    .option('--policy <file>', 'policy as YAML')
    .option('--against <file>', 'another policy, to compare it with')
    .option('--window <tokens>', 'most tokens of a request (twice maxTokens)', readTokens)
    .option('--model <name>', 'provider/model of the catalogue: its window, tokenizer and prices')
    .option('--json', 'one JSON line per conversation, failures too')
    .action((file: string, options: ReplayOptions, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/replay.ts')).replayFile(file, options, output),
      ),
    );
}

function addWireCommands(program: Command, output: Output): void {
  program
    .command('tokens <file>')
    .description("count the tokens of a file's text")
    .option('--encoding <name>', 'o200k_base or cl100k_base', 'o200k_base')
    .option('--json', 'print JSON')
    .action((file: string, options: { encoding: string; json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/wire.ts')).countFile(file, options, output),
      ),
    );
  program
    .command('render <file>')
    .description('print the request body that each conversation of a JSONL file gives; - is standard input')
    .requiredOption('--format <name>', FORMATS)
    .option('--model <name>', "the provider's name of it (the one that answered last)")
    .option('--system <text>', "the agent's prompt")
    .action((file: string, options: { format: string; model?: string; system?: string }, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/wire.ts')).renderFile(file, options, output),
      ),
    );
  program
    .command('validate <file>')
    .description('name the rules that a request body breaks; exit code 1 where there are any; - is standard input')
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
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('expected a whole number above 0.');
  return value;
}
