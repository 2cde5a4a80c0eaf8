import { SCOPES, type Scope } from '../domain/access-key.ts';
import { DEFAULT_TENANT } from '../domain/ids.ts';

export interface Caller {
  /** The only tenant whose conversations the caller reaches (invariant I19). */
  readonly tenant: string;
  /** Rights of the caller, of which `admin` includes the others. A request without the right of its route gets the status 403. */
  readonly scopes: readonly Scope[];
}

/**
 * Finds out who sends a request, e.g. from its bearer key. Throws an `HttpProblem` with the code `unauthorized` if the
 * caller is unknown.
 */
export type Authenticate = (request: Request) => Promise<Caller>;

/** Gives every caller all rights in the default tenant, for a server that only this machine reaches. */
export const trustEveryone: Authenticate = async () => ({ tenant: DEFAULT_TENANT, scopes: SCOPES });
