import { type Command, InvalidArgumentError, Option } from 'commander';
import { ROLES, type Role } from '../runtime/start-workers.ts';
import { type DemoOptions, runDemo } from './commands/demo.ts';
import { type DevOptions, runDev } from './commands/dev.ts';
import { runWorker, type WorkerOptions } from './commands/worker.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that are processes: they run until they are done or told to stop. */
export function addProcessCommands(program: Command, output: Output): void {
  program
    .command('dev')
    .description('a Redis of its own, all workers and a prompt, in one process')
    .option('--agents <file>', 'module that exports `agents`; without it an agent that needs no key')
    .option('--agent <name>', 'agent of the prompt; without it the first')
    .option('--policy <file>', 'policy as YAML, under the agents’ own')
    .option('--conversation <id>', 'conversation of the prompt', 'dev')
    .action((options: DevOptions) => runCommand(output, false, () => runDev(options, output)));
  program
    .command('worker')
    .description('answer turns, run passes, write summaries')
    .addOption(
      new Option('--roles <list>', 'which of them, separated by commas')
        .argParser(readRoles)
        .default(ROLES, ROLES.join(',')),
    )
    .requiredOption('--agents <file>', 'module that exports `agents` (required)')
    .option('--policy <file>', 'policy as YAML, under the agents’ own')
    .action((options: WorkerOptions) => runCommand(output, false, () => runWorker(options, output)));
  program
    .command('demo')
    .description('an agent with real tools lives through both kinds of compaction; needs no key')
    .option('--file <jsonl>', 'play back a recorded conversation instead')
    .option('--json', 'end with one JSON line; the rest goes to standard error')
    .action((options: DemoOptions) => runCommand(output, options.json, () => runDemo(options, output)));
}

function readRoles(text: string): Role[] {
  return text.split(',').map((name) => {
    const role = ROLES.find((known) => known === name.trim());
    if (role === undefined) throw new InvalidArgumentError(`'${name}' is no role: ${ROLES.join(', ')}.`);
    return role;
  });
}
