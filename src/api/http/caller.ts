import { SCOPES, type Scope } from '../../domain/access-key.ts';
import { DEFAULT_TENANT } from '../../domain/ids.ts';
import type { AccessKeys } from '../client/index.ts';
import { HttpProblem } from './problem.ts';

/** In an answer: the tenant of the caller. In a request: the tenant that the caller means. */
export const TENANT_HEADER = 'turnfold-tenant';

export interface Caller {
  readonly tenant: string;
  /** Rights of the caller. `admin` includes the others. A request without the right of its route gets 403. */
  readonly scopes: readonly Scope[];
  /** Owner whose conversations alone the caller reaches. New conversations get this owner. Absent: all owners. */
  readonly owner?: string | undefined;
  /** The only conversation that the caller reaches. Absent: all that its tenant and owner allow. */
  readonly conversation?: string | undefined;
}

/** Throws an `HttpProblem` with the code `unauthorized` if the caller is unknown. */
export type Authenticate = (request: Request) => Promise<Caller>;

export function foreignTenant(reached: string): HttpProblem {
  const why = `this request reaches only the tenant ${reached}. Name that tenant, or use a key of the other one`;
  return new HttpProblem('forbidden', why, { field: 'tenant' });
}

/** A program that has the wrong key gets an error, not the conversations of another tenant. */
export function checkTenant(request: Request, { tenant }: Caller): void {
  const named = request.headers.get(TENANT_HEADER);
  if (named === null || named === tenant) return;
  throw foreignTenant(tenant);
}

/** Refuses a caller that is bound to an owner or a conversation. @param by only this binding counts (both) */
export function checkUnbound({ owner, conversation }: Caller, by?: 'conversation'): void {
  if (conversation === undefined && (owner === undefined || by !== undefined)) return;
  const reached = conversation === undefined ? 'the conversations of one owner' : 'one conversation';
  throw new HttpProblem('forbidden', `this caller reaches only ${reached}`, { field: 'authorization' });
}

/** Only keys of the default tenant may see all tenants (invariant I19). */
export function checkOperator(caller: Caller): void {
  const { tenant } = caller;
  checkUnbound(caller);
  if (tenant === DEFAULT_TENANT) return;
  const why = 'this route shows all tenants, so it needs a key of the default tenant with the scope admin';
  throw new HttpProblem('forbidden', why, { field: 'authorization' });
}

/** For a server that only this machine reaches. */
export const trustEveryone: Authenticate = async () => ({ tenant: DEFAULT_TENANT, scopes: SCOPES });

const BEARER = /^Bearer +(?<token>\S+)$/i;
const CHALLENGE = { 'www-authenticate': 'Bearer realm="turnfold"' };

/** Identifies callers by access keys. A caller does not learn why its key is refused. */
export function authenticateByKey(keys: Pick<AccessKeys, 'authenticate'>): Authenticate {
  return async ({ headers }) => {
    const token = BEARER.exec(headers.get('authorization') ?? '')?.groups?.['token'];
    if (token === undefined) throw unauthorized('expected an access key: Authorization: Bearer <key>');
    const answer = await keys.authenticate(token);
    if (answer.status === 'refused') throw unauthorized('the access key is not accepted');
    const { tenant, scopes, owner, conversation } = answer;
    return { tenant, scopes, owner, conversation };
  };
}

function unauthorized(why: string): HttpProblem {
  return new HttpProblem('unauthorized', why, { field: 'authorization', headers: CHALLENGE });
}
