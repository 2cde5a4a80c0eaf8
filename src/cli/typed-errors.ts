import type { Command, Option } from 'commander';
import { describeShortfall } from '../api/client/client-errors.ts';
import type { Shortfall } from '../domain/durability.ts';
import { fieldError, isTurnfoldError, TurnfoldError } from '../domain/errors.ts';

/** The option or argument that a person typed, by API field. */
export type TypedNames = Readonly<Record<string, string>>;

const VARIABLES: TypedNames = {
  redisUrl: 'REDIS_URL',
  prefix: 'TURNFOLD_PREFIX',
  shards: 'TURNFOLD_SHARDS',
  'metrics.host': 'TURNFOLD_METRICS_HOST',
  'metrics.port': 'TURNFOLD_METRICS_PORT',
  'durability.fsync': 'TURNFOLD_DURABLE_FSYNC',
};

/** Fields become options, and an unconfirmed write gets the command that repeats it. */
export function wordTypedError(error: unknown, command: Command, names?: TypedNames): unknown {
  return nameTypedField(isUnconfirmed(error) ? wordUnconfirmedWrite(error, command) : error, command, names);
}

/** @param others fields that have another name on the command line */
export function nameTypedField(error: unknown, command: Command, others: TypedNames = {}): unknown {
  if (!isTurnfoldError(error) || error.field === undefined) return error;
  const typed = new Map([...Object.entries(VARIABLES), ...listOptions(command), ...Object.entries(others)]);
  const name = typed.get(error.field);
  return name === undefined ? error : renameField(error, name);
}

/** An error whose message does not begin with its field stays unchanged. */
export function renameField(error: TurnfoldError, name: string): TurnfoldError {
  const { code, reason, message, details } = error;
  if (reason === message) return error;
  return fieldError(code, name, reason, { details, cause: error });
}

/** Lists the options that the person used. Errors must not mention other options. Defaults count as used. */
function listOptions(command: Command): [string, string][] {
  return command.options
    .filter((option) => command.getOptionValueSource(option.attributeName()) !== undefined)
    .map((option) => [option.attributeName(), option.long ?? option.flags]);
}

function isUnconfirmed(error: unknown): error is TurnfoldError {
  return isTurnfoldError(error, 'accepted_unsure');
}

/** Adds the command that repeats the write. The message has the id of the write only if the person typed that id. */
function wordUnconfirmedWrite(error: TurnfoldError, command: Command): TurnfoldError {
  const { code, field = '', details = {} } = error;
  const id = details[field];
  const repeat = `${describeShortfall(details as unknown as Shortfall)}. To check again, run: ${repeatCommand(command, details)}`;
  return isTyped(command, field, id)
    ? fieldError(code, field, `${String(id)}: ${repeat}`, { details, cause: error })
    : new TurnfoldError(code, repeat, { details, cause: error });
}

function isTyped(command: Command, field: string, id: unknown): boolean {
  return (
    command.registeredArguments.some((argument, at) => argument.name() === field && command.args[at] === id) ||
    command.options.some((option) => option.attributeName() === field && wasTyped(command, option))
  );
}

/** Repeats the ids of the write. A command without an option for an id derives the id from its arguments. */
function repeatCommand(command: Command, ids: Readonly<Record<string, unknown>>): string {
  const typed = command.options.filter((option) => wasTyped(command, option));
  const added = command.options.filter(
    (option) => !typed.includes(option) && ids[option.attributeName()] !== undefined,
  );
  const options = [
    ...typed.flatMap((option) => formatTyped(option, command.getOptionValue(option.attributeName()))),
    ...added.map((option) => formatOption(option, ids[option.attributeName()])),
  ];
  const args = command.args.map(quote);
  const isDashed = command.args.some((arg) => arg.startsWith('-'));
  const words = isDashed ? [...options, '--', ...args] : [...args, ...options];
  return [nameCommand(command), ...words].join(' ');
}

function nameCommand(command: Command): string {
  return command.parent === null ? command.name() : `${nameCommand(command.parent)} ${command.name()}`;
}

function wasTyped(command: Command, option: Option): boolean {
  return command.getOptionValueSource(option.attributeName()) === 'cli';
}

/** This option may contain secrets. A printed command repeats its value only if the value is `@` and a path. */
const CONTEXT = '--context';

/** An option that a person has repeated has a list of values. */
function formatTyped(option: Option, value: unknown): string[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) => formatOption(option, one));
}

function formatOption({ long, flags }: Option, value: unknown): string {
  if (value === true) return long ?? flags;
  if (long === CONTEXT && !String(value).startsWith('@')) return `${CONTEXT} …`;
  const text = String(value);
  return `${long}${text.startsWith('-') ? '=' : ' '}${quote(text)}`;
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
