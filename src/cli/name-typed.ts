import type { Command } from 'commander';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';

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
