import type { AccessKeys } from '../client/index.ts';
import type { Authenticate } from './caller.ts';
import { HttpProblem } from './problem.ts';

const BEARER = /^Bearer +(?<token>\S+)$/i;
const CHALLENGE = { 'www-authenticate': 'Bearer realm="turnfold"' };

/**
 * Finds the caller by the access key in the header `Authorization: Bearer …`. The caller does not learn why a key is
 * refused.
 */
export function authenticateByKey(keys: Pick<AccessKeys, 'authenticate'>): Authenticate {
  return async ({ headers }) => {
    const token = BEARER.exec(headers.get('authorization') ?? '')?.groups?.['token'];
    if (token === undefined) throw unauthorized('expected an access key: Authorization: Bearer <key>');
    const answer = await keys.authenticate(token);
    if (answer.status === 'refused') throw unauthorized('the access key is not accepted');
    return { tenant: answer.tenant, scopes: answer.scopes };
  };
}

function unauthorized(why: string): HttpProblem {
  return new HttpProblem('unauthorized', why, { field: 'authorization', headers: CHALLENGE });
}
