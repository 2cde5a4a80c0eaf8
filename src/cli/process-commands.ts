import type { Command } from 'commander';
import { ALL_ROLES, withContextOption } from './command-options.ts';
import type { DemoOptions } from './commands/demo.ts';
import type { DevOptions } from './commands/dev.ts';
import type { WorkerOptions } from './commands/worker.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that are processes: they run until they are done or told to stop. */
export function addProcessCommands(program: Command, output: Output): void {
  const dev = program
    .command('dev')
    .description('all workers and a prompt in one process, on the Redis of REDIS_URL or one of its own')
    .option('--agents <file>', 'module that exports `agents`; without it an agent that needs no key')
    .option('--agent <name>', 'agent of the prompt; without it the first')
    .option('--policy <file>', 'policy as YAML, under the agents’ own')
    .option('--shadow <file>', 'a second policy as YAML: measured at every pass, never committed')
    .option('--model <name>', 'provider/model instead of the agents’ own; its key from the environment')
    .option('--conversation <id>', 'conversation of the prompt', 'dev');
  withContextOption(dev).action((options: DevOptions, command: Command) =>
    runCommand({ command, output }, async () => (await import('./commands/dev.ts')).runDev(options, output)),
  );
  program
    .command('worker')
    .description('answer turns, run passes, write summaries')
    .option('--roles <list>', 'which of them, separated by commas', ALL_ROLES)
    .requiredOption('--agents <file>', 'module that exports `agents` (required)')
    .option('--policy <file>', 'policy as YAML, under the agents’ own')
    .option('--shadow <file>', 'a second policy as YAML: measured at every pass, never committed')
    .action((options: WorkerOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/worker.ts')).runWorker(options, output)),
    );
  program
    .command('demo')
    .description('an agent with real tools lives through both kinds of compaction; needs no key')
    .option('--model <name>', 'provider/model instead of the script; its key from the environment')
    .option('--file <jsonl>', 'play back a recorded conversation instead')
    .option('--json', 'end with one JSON line; the rest goes to standard error')
    .action((options: DemoOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/demo.ts')).runDemo(options, output)),
    );
}
