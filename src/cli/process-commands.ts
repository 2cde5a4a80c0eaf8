import { type Command, InvalidArgumentError } from 'commander';
import { ROLES, type Role } from '../runtime/start-workers.ts';
import { runDemo } from './commands/demo.ts';
import { runDev } from './commands/dev.ts';
import { runWorker } from './commands/worker.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that are processes: they run until they are done or told to stop. */
export function addProcessCommands(program: Command, output: Output): void {
  program
    .command('dev')
    .description('a Redis of its own, all workers and a prompt, in one process')
    .option('--agents <file>', 'module that exports `agents`; without it an agent that needs no key')
    .option('--policy <file>', 'policy as YAML, under the agents’ own')
    .option('--conversation <id>', 'conversation of the prompt', 'dev')
    .action((options: { agents?: string; policy?: string; conversation: string }) =>
      runCommand(output, false, () => runDev(options, output)),
    );
  program
    .command('worker')
    .description('answer turns, run passes, write summaries')
    .option('--roles <list>', ROLES.join(','), readRoles, [...ROLES])
    .requiredOption('--agents <file>', 'module that exports `agents`')
    .option('--policy <file>', 'policy as YAML, under the agents’ own')
    .action((options: { roles: Role[]; agents: string; policy?: string }) =>
      runCommand(output, false, () => runWorker(options, output)),
    );
  program
    .command('demo')
    .description('an agent with real tools lives through both kinds of compaction; needs no key')
    .option('--file <jsonl>', 'play back a recorded conversation instead')
    .option('--json', 'end with one JSON line', false)
    .action((options: { file?: string; json: boolean }) =>
      runCommand(output, options.json, () => runDemo(options, output)),
    );
}

function readRoles(text: string): Role[] {
  return text.split(',').map((name) => {
    const role = ROLES.find((known) => known === name.trim());
    if (role === undefined) throw new InvalidArgumentError(`'${name}' is no role: ${ROLES.join(', ')}.`);
    return role;
  });
}
