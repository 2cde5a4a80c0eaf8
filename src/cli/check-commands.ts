import type { Command } from 'commander';
import { ALL_ROLES } from './command-options.ts';
import type { CheckOptions } from './commands/config.ts';
import type { DoctorCommandOptions } from './commands/doctor.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Diagnostic commands. Only `quarantine restore` and `quarantine drop` write to Redis. */
export function addCheckCommands(program: Command, output: Output): void {
  program
    .command('doctor')
    .description('check this machine, its Redis and its settings, and suggest remedies (exit code 1 if a check fails)')
    .option(
      '--redis <url>',
      'check this Redis instead of REDIS_URL (a password on a command line is visible in the process list)',
    )
    .option('--providers', 'also call the model providers whose keys are set (costs no tokens)')
    .option('--json', 'print JSON, errors included')
    .action((options: DoctorCommandOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/doctor.ts')).runDoctor(options, output)),
    );
  addQuarantineCommands(program.command('quarantine'), output);
  addConfigCommands(program.command('config').description('check, print or describe the settings'), output);
}

interface QuarantineOptions {
  readonly json?: boolean;
}

function addQuarantineCommands(quarantine: Command, output: Output): void {
  const run = (command: Command, act: (commands: typeof import('./commands/doctor.ts')) => Promise<number>) =>
    runCommand({ command, output }, async () => await act(await import('./commands/doctor.ts')));
  quarantine
    .description('list unreadable Redis records that were set aside, or release one')
    .option('--json', 'print JSON lines, errors included')
    .action((options: QuarantineOptions, command: Command) =>
      run(command, (commands) => commands.showQuarantined(options, output)),
    );
  const releases = [
    ['restore', true, 'put a repaired record back into its set for the next sweep'],
    ['drop', false, 'delete a record permanently'],
  ] as const;
  for (const [name, isRestored, description] of releases) {
    quarantine
      .command(`${name} <shard> <name>`)
      .description(description)
      .action((shard: string, record: string, _: unknown, command: Command) =>
        run(command, (commands) => commands.releaseRecord({ shard, name: record, isRestored }, output)),
      );
  }
}

function addConfigCommands(config: Command, output: Output): void {
  config
    .command('check')
    .description(
      'report everything in environment, policies and agents that a worker would reject (exit code 1 if anything)',
    )
    .option('--policy <file>', 'policy file (YAML)')
    .option('--shadow <file>', 'second policy file (YAML) that workers measure and never commit')
    .option('--agents <file>', 'module that exports `agents`')
    .option(
      '--roles <list>',
      'roles of the workers, comma-separated (only summarization needs summarizer models)',
      ALL_ROLES,
    )
    .option('--json', 'print JSON, errors included')
    .action((options: CheckOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/config.ts')).checkConfig(options, output)),
    );
  config
    .command('print')
    .description('print every setting with its value and origin (secrets are masked)')
    .option('--json', 'print JSON, errors included')
    .action((options: { json?: boolean }, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/config.ts')).printConfig(options, output)),
    );
  config
    .command('schema [what]')
    .description('print a JSON Schema for editors, of `settings` (the environment) or `policy` (a policy file)')
    .action((what = 'settings', _, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/config.ts')).printSchema(what, output)),
    );
}
