import type { Command } from 'commander';
import { ALL_ROLES } from './command-options.ts';
import type { CheckOptions } from './commands/config.ts';
import type { DoctorCommandOptions } from './commands/doctor.ts';
import type { Output } from './output.ts';
import { runCommand } from './run-command.ts';

/** Commands that look whether all is well. But for a release from quarantine they change nothing. */
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
    .description('list records of Redis that could not be read and were set aside, or release one of them')
    .option('--json', 'print JSON lines, failures too')
    .action((options: QuarantineOptions, command: Command) =>
      run(command, (commands) => commands.showQuarantined(options, output)),
    );
  const releases = [
    ['restore', true, 'put a record back into its set, once it is repaired; the next sweep looks at it'],
    ['drop', false, 'forget a record for good'],
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
      'tell of all that a worker would refuse: the environment, policies and agents; exit code 1 where it would',
    )
    .option('--policy <file>', 'policy as YAML')
    .option('--shadow <file>', 'a second policy as YAML, as workers are given it')
    .option('--agents <file>', 'module that exports `agents`')
    .option('--roles <list>', 'of those workers, separated by commas: only summarization needs summarizers', ALL_ROLES)
    .option('--json', 'print JSON, failures too')
    .action((options: CheckOptions, command: Command) =>
      runCommand({ command, output }, async () => (await import('./commands/config.ts')).checkConfig(options, output)),
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
