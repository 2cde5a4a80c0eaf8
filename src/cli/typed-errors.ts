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

/** What the API calls a thing, and what it is called where a person says it. */
export type TypedNames = Readonly<Record<string, string>>;

/** What a program gives as an option comes from the environment here. */
const VARIABLES: TypedNames = {
  redisUrl: 'REDIS_URL',
  shards: 'TURNFOLD_SHARDS',
  'metrics.host': 'TURNFOLD_METRICS_HOST',
  'metrics.port': 'TURNFOLD_METRICS_PORT',
  'durability.fsync': 'TURNFOLD_DURABLE_FSYNC',
};

/**
 * An error names the API's field; a person looks for what they typed, or set. An option has the API's word for it, and so has
 * an argument.
 * @param others of what the command calls otherwise
 */
export function nameTyped(error: unknown, command: Command, others: TypedNames = {}): unknown {
  if (!isTurnfoldError(error)) return error;
  const { field } = error;
  const typed = new Map([...Object.entries(VARIABLES), ...listOptions(command), ...Object.entries(others)]);
  const name = field === undefined ? undefined : typed.get(field);
  return name === undefined ? error : renameField(error, name);
}

/** The same error, of a field that is called otherwise; as it is where its message is of something else. */
export function renameField(error: TurnfoldError, name: string): TurnfoldError {
  const { code, field, message, details } = error;
  const said = `${field}: `;
  if (!message.startsWith(said)) return error;
  return new TurnfoldError(code, `${name}: ${message.slice(said.length)}`, {
    field: name,
    cause: error,
    ...(details !== undefined && { details }),
  });
}

/** Those that were typed, or have a value all the same: nobody looks for one that is not there. */
function listOptions(command: Command): [string, string][] {
  return command.options
    .filter((option) => command.getOptionValueSource(option.attributeName()) !== undefined)
    .map((option) => [option.attributeName(), option.long ?? option.flags]);
}
