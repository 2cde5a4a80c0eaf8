import { CommanderError } from 'commander';
import { TurnfoldError } from '../domain/errors.ts';
import { type Output, reportError } from './output.ts';

/** Whether JSON is asked for: known before the command line is understood, and where it cannot be. */
export function asksJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Tells what is wrong with a command line, where nobody has yet: to people commander does. @returns the exit code */
export function reportUsage(output: Output, error: unknown, isJson: boolean): number {
  if (!(error instanceof CommanderError)) return reportError(output, error, isJson);
  if (isJson && error.exitCode !== 0) {
    // Help that was not asked for: a command is missing, or unknown.
    const said = error.code === 'commander.help' ? 'expected a command: turnfold help lists them' : error.message;
    const message = said.replace(/^error: /, '');
    const [, option, argument] = /option '(--[\w-]+)|argument '(\w+)'/.exec(message) ?? [];
    const field = option ?? argument;
    reportError(output, new TurnfoldError('invalid_input', message, field === undefined ? {} : { field }), isJson);
  }
  return error.exitCode;
}
