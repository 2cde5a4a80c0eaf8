import type { Shortfall, Told } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';

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
export function checkHeld({ shortfall }: Told<unknown>, { field, id, others }: CallName): void {
  if (shortfall === undefined) return;
  throw new TurnfoldError(
    'accepted_unsure',
    `${field}: ${id}: what was asked for is written, but ${explain(shortfall)} in time. The same call again, with this ` +
      `${field} where it named none, is safe, and answers once it is held.`,
    { field, details: { ...others, [field]: id, ...shortfall } },
  );
}

function explain({ wanted, reached }: Shortfall): string {
  if (reached === undefined) return 'nobody could say who holds it';
  const replicas = `${reached.replicas} of ${wanted.replicas} replicas hold it`;
  return wanted.fsynced === undefined || reached.fsynced === undefined || reached.fsynced >= wanted.fsynced
    ? replicas
    : `${replicas}, and the master's disk does not`;
}
