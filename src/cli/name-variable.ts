import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';

/** What a program gives as an option comes from the environment here. */
const VARIABLES: Readonly<Record<string, string>> = {
  redisUrl: 'REDIS_URL',
  shards: 'TURNFOLD_SHARDS',
  'metrics.host': 'TURNFOLD_METRICS_HOST',
  'metrics.port': 'TURNFOLD_METRICS_PORT',
};

/** An error names the option that is wrong; a person looks for the variable that they set. */
export function nameVariable(error: unknown): unknown {
  if (!isTurnfoldError(error, 'invalid_config') && !isTurnfoldError(error, 'incompatible_store')) return error;
  const { code, field = '', message, details } = error;
  const variable = VARIABLES[field];
  if (variable === undefined) return error;
  return new TurnfoldError(code, message.replace(`${field}: `, `${variable}: `), {
    field: variable,
    cause: error,
    ...(details === undefined ? {} : { details }),
  });
}
