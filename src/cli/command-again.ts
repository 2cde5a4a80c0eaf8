import type { Command, Option } from 'commander';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';

/**
 * What was accepted unsurely can be asked for again: a person is told the whole command that does, and the id of what was
 * asked for where it was typed.
 */
export function nameCommandAgain(error: unknown, command: Command): unknown {
  if (!isTurnfoldError(error, 'accepted_unsure')) return error;
  const { code, field = '', message, details = {} } = error;
  // Behind the first sentence it says to a program what the command says to a person.
  const [what = ''] = message.split('. ');
  const again = `This command answers once it is held: ${commandAgain(command, details)}`;
  if (isTyped(command, field, details[field])) {
    return new TurnfoldError(code, `${what}. ${again}`, { field, details, cause: error });
  }
  const written = what.slice(`${field}: ${String(details[field])}: `.length);
  return new TurnfoldError(code, `${written}. ${again}`, { details, cause: error });
}

function isTyped(command: Command, field: string, id: unknown): boolean {
  return (
    command.registeredArguments.some((argument, at) => argument.name() === field && command.args[at] === id) ||
    command.options.some((option) => option.attributeName() === field && wasTyped(command, option))
  );
}

/**
 * The command as it would be typed again, with the ids under which what it asked for is known by now.
 * @param known by the name of the option that says it; where a command has none, the same command is the same call
 */
function commandAgain(command: Command, known: Readonly<Record<string, unknown>>): string {
  const typed = command.options.filter((option) => wasTyped(command, option));
  const added = command.options.filter(
    (option) => !typed.includes(option) && known[option.attributeName()] !== undefined,
  );
  const options = [
    ...typed.map((option) => typeOption(option, command.getOptionValue(option.attributeName()))),
    ...added.map((option) => typeOption(option, known[option.attributeName()])),
  ];
  const args = command.args.map(quote);
  const isDashed = command.args.some((arg) => arg.startsWith('-'));
  const words = isDashed ? [...options, '--', ...args] : [...args, ...options];
  return ['turnfold', command.name(), ...words].join(' ');
}

function wasTyped(command: Command, option: Option): boolean {
  return command.getOptionValueSource(option.attributeName()) === 'cli';
}

/** A context may hold what nobody should log. One in a file is named by its path. */
const CONTEXT = '--context';

function typeOption({ long, flags }: Option, value: unknown): string {
  if (value === true) return long ?? flags;
  if (long === CONTEXT && !String(value).startsWith('@')) return `${CONTEXT} …`;
  const text = String(value);
  return `${long}${text.startsWith('-') ? '=' : ' '}${quote(text)}`;
}

/** As a shell takes it for one word. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
