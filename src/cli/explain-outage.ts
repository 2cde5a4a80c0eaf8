import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { type RedisLocation, readRedisAddress, showAddress } from '../redis/address.ts';
import { refusalError } from '../redis/errors.ts';
import { findRefusal } from '../redis/find-refusal.ts';

/** The error of a Redis that is there and refuses us, with what to do; undefined where it is no such. */
export async function explainRefusal(location: RedisLocation): Promise<TurnfoldError | undefined> {
  const refusal = await findRefusal(location);
  return refusal && refusalError(refusal);
}

/** An outage that is a refusal comes back as one, that of several nodes with their names; any other error as it is. */
export async function explainError(error: unknown, location: RedisLocation): Promise<unknown> {
  if (!isTurnfoldError(error, 'redis_unavailable')) return error;
  return (await explainRefusal(location)) ?? nameNodes(error, location.url);
}

/** What one server did is no news of the others, and Sentinels or a Cluster are known by several. */
function nameNodes(error: TurnfoldError, url: string): TurnfoldError {
  const address = readRedisAddress(url);
  if (address === undefined || address.kind === 'single') return error;
  return new TurnfoldError('redis_unavailable', `${error.message} (${showAddress(address)})`, { cause: error });
}
