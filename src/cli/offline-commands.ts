import type { Command } from 'commander';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

const FORMATS = 'anthropic, openai-chat or openai-responses';

/** Commands that need neither Redis nor a model. */
export function addOfflineCommands(program: Command, output: Output): void {
  program
    .command('plan <file>')
    .description('show what a pass would do with each conversation of a JSONL file')
    .option('--policy <file>', 'policy as YAML')
    .option('--json', 'one JSON line per conversation, failures too')
    .action((file: string, options: { policy?: string; json?: boolean }) =>
      runCommand(output, options.json, async () =>
        (await import('./commands/plan.ts')).planFile(file, options, output),
      ),
    );
  program
    .command('tokens <file>')
    .description("count the tokens of a file's text")
    .option('--encoding <name>', 'o200k_base or cl100k_base', 'o200k_base')
    .option('--json', 'print JSON')
    .action((file: string, options: { encoding: string; json?: boolean }) =>
      runCommand(output, options.json, async () =>
        (await import('./commands/tokens.ts')).countFile(file, options, output),
      ),
    );
  program
    .command('render <file>')
    .description('print the request body that each conversation of a JSONL file gives; - is standard input')
    .requiredOption('--format <name>', FORMATS)
    .option('--model <name>', "the provider's name of it (the one that answered last)")
    .option('--system <text>', "the agent's prompt")
    .action((file: string, options: { format: string; model?: string; system?: string }) =>
      runCommand(output, false, async () => (await import('./commands/render.ts')).renderFile(file, options, output)),
    );
  program
    .command('validate <file>')
    .description('name the rules that a request body breaks; exit code 1 where there are any; - is standard input')
    .requiredOption('--format <name>', FORMATS)
    .option('--json', 'print JSON')
    .action((file: string, options: { format: string; json?: boolean }) =>
      runCommand(output, options.json, async () =>
        (await import('./commands/validate.ts')).validateFile(file, options, output),
      ),
    );
}
