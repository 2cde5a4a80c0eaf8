import type { Command } from 'commander';
import { ALL_ROLES, withContextOption } from './command-options.ts';
import type { DemoOptions } from './commands/demo.ts';
import type { DevOptions } from './commands/dev.ts';
import type { WorkerOptions } from './commands/worker.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that start workers. `worker` and `dev` run until they are stopped. */
export function addProcessCommands(program: Command, output: Output): void {
  const dev = program
    .command('dev')
    .description('run all workers and a chat prompt in one process, on REDIS_URL or a temporary Redis')
    .option('--agents <file>', 'module that exports `agents` (default: a built-in agent that needs no API key)')
    .option('--agent <name>', 'agent of the prompt (default: the first one)')
    .option('--policy <file>', 'policy file (YAML) whose settings the agents’ own policies override')
    .option('--shadow <file>', 'second policy file (YAML) that every pass measures and never commits')
    .option('--model <name>', 'provider/model to use instead of the agents’ own (API key from the environment)')
    .option('--conversation <id>', 'conversation of the prompt', 'dev');
  withContextOption(dev).action((options: DevOptions, command: Command) =>
    runCommand({ command, output }, async () => (await import('./commands/dev.ts')).runDev(options, output)),
  );
  program
    .command('worker')
    .description('run turns, compaction passes and summaries until SIGTERM')
    .option('--roles <list>', 'roles of this process, comma-separated', ALL_ROLES)
    .requiredOption('--agents <file>', 'module that exports `agents` (required)')
    .option('--policy <file>', 'policy file (YAML) whose settings the agents’ own policies override')
    .option('--shadow <file>', 'second policy file (YAML) that every pass measures and never commits')
    .action((options: WorkerOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/worker.ts')).runWorker(options, output)),
    );
  program
    .command('demo')
    .description('watch an agent with real tools go through both kinds of compaction (needs no API key)')
    .option('--model <name>', 'provider/model to use instead of the scripted one (API key from the environment)')
    .option('--file <jsonl>', 'play back the first conversation of this JSONL file instead')
    .option('--json', 'print one JSON line at the end, and everything else to standard error')
    .action((options: DemoOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/demo.ts')).runDemo(options, output)),
    );
}
