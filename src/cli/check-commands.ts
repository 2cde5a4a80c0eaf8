import type { Command } from 'commander';
import { ALL_ROLES } from './command-options.ts';
import type { CheckOptions } from './commands/config-check.ts';
import type { DoctorCommandOptions } from './commands/doctor.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that look whether all is well, and change nothing. */
export function addCheckCommands(program: Command, output: Output): void {
  program
    .command('doctor')
    .description('look at this machine, its Redis and its settings, and say what to do; exit code 1 where one is wrong')
    .option(
      '--redis <url>',
      'another Redis than REDIS_URL names; whoever lists processes sees a password in it, one in REDIS_URL not',
    )
    .option('--providers', 'ask the providers whose keys are set, too; it costs no tokens')
    .option('--json', 'print JSON, failures too')
    .action((options: DoctorCommandOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/doctor.ts')).runDoctor(options, output)),
    );
  addConfigCommands(program.command('config').description('check, print or describe the settings'), output);
}

function addConfigCommands(config: Command, output: Output): void {
  config
    .command('check')
    .description(
      'tell of all that a worker would refuse: the environment, policies and agents; exit code 1 where it would',
    )
    .option('--policy <file>', 'policy as YAML')
    .option('--shadow <file>', 'a second policy as YAML, as workers are given it')
    .option('--agents <file>', 'module that exports `agents`')
    .option('--roles <list>', 'of those workers, separated by commas: only summarization needs summarizers', ALL_ROLES)
    .option('--json', 'print JSON, failures too')
    .action((options: CheckOptions, command: Command) =>
      runCommand({ command, output }, async () =>
        (await import('./commands/config-check.ts')).checkConfig(options, output),
      ),
    );
  config
    .command('print')
    .description('print every setting as it takes effect, and where it is from; secrets are masked')
    .option('--json', 'print JSON, failures too')
    .action((options: { json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/config.ts')).printConfig(options, output)),
    );
  config
    .command('schema [what]')
    .description('print a JSON Schema for editors: of the settings (an environment), or of a policy file')
    .action((what = 'settings', _, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/config.ts')).printSchema(what, output)),
    );
}
