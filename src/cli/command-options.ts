import { type Command, InvalidArgumentError } from 'commander';
import { isPrefix, PREFIX_FORM } from '../domain/namespace.ts';

/** Copy of the role names in `workers-options`, because loading that module would slow down `--help`. */
export const ALL_ROLES = 'turn,compaction,summarization';

export function withJsonOption(command: Command, what = 'JSON'): Command {
  return command.option('--json', `print ${what}, errors included`);
}

/** Adds the option `--prefix` to commands that use Redis, and to their subcommands. `CommandRunner` applies it. */
/** Options of the commands that read a file of conversations. */
export function withFileOptions(command: Command): Command {
  return command
    .option('--from <format>', 'format of the file, such as claude-code (default: what the file looks like)')
    .option('--strict', 'refuse a history that would have to be repaired, instead of repairing it');
}

export function addPrefixOption(commands: readonly Command[]): void {
  for (const command of commands) {
    addPrefixOption(command.commands);
    command.option('--prefix <name>', 'prefix of the application in Redis, instead of TURNFOLD_PREFIX', readPrefix);
  }
}

function readPrefix(text: string): string {
  if (isPrefix(text)) return text;
  throw new InvalidArgumentError(`It ${PREFIX_FORM}.`);
}

export function withContextOption(command: Command): Command {
  return command.option('--context <json>', 'context of the turn, for tools and system prompts (@path reads a file)');
}

/** Creates a parser of whole numbers. @param least the smallest allowed number */
export function numberFrom(least: 0 | 1): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Expected a whole number of ${least} or more.`);
  };
}

export function readSeconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new InvalidArgumentError('Expected a number of seconds.');
}

/** Describes the option `--allowed-hosts` of servers. */
export const ALLOWED_HOSTS =
  'host names under which requests may come, beside localhost and IP addresses: api.example.com,*.example.com';

/** Reads a port. 0 takes any free port. */
export const readPort = numberFrom(0);
