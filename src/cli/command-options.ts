import { type Command, InvalidArgumentError } from 'commander';
import { isPrefix, PREFIX_FORM } from '../domain/namespace.ts';

export function withJsonOption(command: Command, what = 'JSON'): Command {
  return command.option('--json', `print ${what}, errors included`);
}

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

function wholeFrom(least: 0 | 1): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Expected a whole number of ${least} or more.`);
  };
}

export const readNumber = wholeFrom(0);
export const readCount = wholeFrom(1);

/** Collects the values of an option that may be repeated. */
export function addPath(path: string, paths: readonly string[] = []): readonly string[] {
  return [...paths, path];
}

export function readSeconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new InvalidArgumentError('Expected a number of seconds.');
}

export function withHostOptions(command: Command, port: number): Command {
  return command
    .option('--port <n>', 'port to listen on (0 takes any free port)', readNumber, port)
    .option('--host <address>', 'address to listen on. Without --keys only 127.0.0.1, ::1 or localhost', '127.0.0.1')
    .option('--keys', 'answer only callers with an access key of `turnfold keys`');
}

export function withAllowedHostsOption(command: Command): Command {
  return command.option(
    '--allowed-hosts <names>',
    'host names under which requests may come, beside localhost and IP addresses: api.example.com,*.example.com',
  );
}
