import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { readRedisAddress, showAddress } from '../domain/redis-address.ts';
import { isInProtectedMode, PROTECTED_MODE } from '../local-redis/protected-mode.ts';

/** The error of a Redis that is there and refuses us, with what to do; undefined where it is no such. */
export async function findRefusal(url: string): Promise<TurnfoldError | undefined> {
  if (!(await isInProtectedMode(url))) return undefined;
  const { message, hint } = PROTECTED_MODE;
  return new TurnfoldError('redis_unavailable', `Redis refuses us: ${message}. ${hint}`);
}

/** An outage that is a refusal comes back as one, that of several nodes with their names; any other error as it is. */
export async function explainError(error: unknown, url: string): Promise<unknown> {
  if (!isTurnfoldError(error, 'redis_unavailable')) return error;
  return (await findRefusal(url)) ?? nameNodes(error, url);
}

/** What one server did is no news of the others, and Sentinels or a Cluster are known by several. */
function nameNodes(error: TurnfoldError, url: string): TurnfoldError {
  const address = readRedisAddress(url);
  if (address === undefined || address.kind === 'single') return error;
  return new TurnfoldError('redis_unavailable', `${error.message} (${showAddress(address)})`, { cause: error });
}
