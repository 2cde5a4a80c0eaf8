import type { Acknowledged, Shortfall } from '../domain/durability.ts';
import { isTurnfoldError, TurnfoldError } from '../domain/errors.ts';
import { isRefusal } from '../redis/errors.ts';

/** What makes the same call again the same. */
export interface CallName {
  readonly field: 'turn' | 'operation' | 'conversation';
  readonly id: string;
  /** what else it has to name, where the caller may have looked it up for this call */
  readonly others?: Readonly<Record<string, string>>;
}

/**
 * Lets pass what is held as was asked for. Called once the wakes are added: what is written goes on, sure or unsure.
 * @throws accepted_unsure
 */
export function checkHeld({ shortfall }: Acknowledged<unknown>, { field, id, others }: CallName): void {
  if (shortfall === undefined) return;
  throw new TurnfoldError(
    'accepted_unsure',
    `${field}: ${id}: what was asked for is written, but ${explain(shortfall)} in time. The same call again, with this ` +
      `${field} where it named none, is safe, and answers once it is held.`,
    { field, details: { ...others, [field]: id, ...shortfall } },
  );
}

/**
 * Runs a write whose id the caller may not know. Where Redis goes away nobody knows whether it wrote, and the caller may find out
 * by the same call under that id: the error names it.
 */
export async function nameUnanswered<T>({ field, id, others }: CallName, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!isTurnfoldError(error, 'redis_unavailable') || isRefusal(error)) throw error;
    const again = `Whether it wrote ${field} ${id} is not known. The same call with this ${field} is safe`;
    throw new TurnfoldError('redis_unavailable', `${error.message}. ${again}`, {
      details: { ...others, [field]: id },
      cause: error.cause ?? error,
    });
  }
}

function explain({ wanted, reached }: Shortfall): string {
  if (reached === undefined) return 'nobody could say who holds it';
  const replicas = `${reached.replicas} of ${wanted.replicas} replicas hold it`;
  return wanted.fsynced === undefined || reached.fsynced === undefined || reached.fsynced >= wanted.fsynced
    ? replicas
    : `${replicas}, and the master's disk does not`;
}
