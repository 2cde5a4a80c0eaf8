#!/usr/bin/env node
import { Command } from 'commander';
import { planFile } from './commands/plan.ts';
import { countFile } from './commands/tokens.ts';
import { type Output, processOutput, reportError } from './output.ts';

function buildProgram(output: Output): Command {
  const program = new Command('turnfold')
    .description('Durable turns for LLM agents on Node and Redis, with compaction that keeps every context small.')
    .showHelpAfterError();
  const run =
    <Args extends unknown[]>(command: (...args: Args) => Promise<number>, isJson: (...args: Args) => boolean) =>
    async (...args: Args): Promise<void> => {
      try {
        process.exitCode = await command(...args);
      } catch (error) {
        process.exitCode = reportError(output, error, isJson(...args));
      }
    };
  program
    .command('plan <file>')
    .description('show what a pass would do with each conversation of a JSONL file')
    .option('--policy <file>', 'policy as YAML')
    .option('--json', 'one JSON line per conversation', false)
    .action(
      run(
        (file: string, options: { policy?: string; json: boolean }) => planFile(file, options, output),
        (_, o) => o.json,
      ),
    );
  program
    .command('tokens <file>')
    .description("count the tokens of a file's text")
    .option('--encoding <name>', 'o200k_base or cl100k_base', 'o200k_base')
    .option('--json', 'print JSON', false)
    .action(
      run(
        (file: string, options: { encoding: string; json: boolean }) => countFile(file, options, output),
        (_, o) => o.json,
      ),
    );
  return program;
}

// A reader that has seen enough (`| head`) closes the pipe: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

await buildProgram(processOutput).parseAsync();
