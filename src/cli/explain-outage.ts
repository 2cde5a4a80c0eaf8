import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { isInProtectedMode, PROTECTED_MODE } from '../local-redis/protected-mode.ts';

/** The error of a Redis that is there and refuses us, with what to do; undefined where it is no such. */
export async function findRefusal(url: string): Promise<TurnfoldError | undefined> {
  if (!(await isInProtectedMode(url))) return undefined;
  const { message, hint } = PROTECTED_MODE;
  return new TurnfoldError('redis_unavailable', `Redis refuses us: ${message}. ${hint}`);
}

/** An outage that is a refusal comes back as one; any other error as it is. */
export async function explainError(error: unknown, url: string): Promise<unknown> {
  return isTurnfoldError(error, 'redis_unavailable') ? ((await findRefusal(url)) ?? error) : error;
}
