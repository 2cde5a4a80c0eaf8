import type { AccessKeyView, IssuedKey } from '../../api/client/index.ts';
import { readPeriod, readScopes } from '../option-values.ts';
import { type Output, writeJson, writeResult } from '../output.ts';
import type { AccessContext } from '../run-command.ts';
import { formatMinute, formatTable, writeTable } from '../table.ts';

export interface CreateKeyOptions {
  readonly tenant: string;
  /** Scopes separated by commas. */
  readonly scopes: string;
  /** Time until the key expires, such as `90d`. */
  readonly expires?: string;
  readonly name?: string;
  readonly json?: boolean;
}

export async function createKey({ client, output }: AccessContext, options: CreateKeyOptions): Promise<number> {
  const { tenant, scopes, expires, name, json } = options;
  const issued = await client.keys.create({
    tenant,
    scopes: readScopes(scopes),
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresInMs: readPeriod(expires, '--expires') }),
  });
  printIssued(output, issued, json);
  return 0;
}

export async function rotateKey(
  { client, output }: AccessContext,
  id: string,
  { grace, json }: { readonly grace: string; readonly json?: boolean },
): Promise<number> {
  const issued = await client.keys.rotate(id, { graceMs: readPeriod(grace, '--grace') });
  printIssued(output, issued, json);
  if (!json) output.note(`the secret before this one is accepted for ${grace}`);
  return 0;
}

/** Prints the token alone to standard output, so that a script can store it. */
function printIssued(output: Output, { key, token }: IssuedKey, isJson: boolean | undefined): void {
  writeResult(output, isJson, { ...key, token }, token);
  if (isJson) return;
  const expiry = key.expiresAt === undefined ? 'does not expire' : `expires ${formatMinute(key.expiresAt)}`;
  output.note(`key ${key.id} of tenant ${key.tenant}: ${key.scopes.join(', ')}, ${expiry}`);
  output.note('Store the token now. It is not shown again.');
}

export async function listKeys(
  { client, output }: AccessContext,
  { tenant, json }: { readonly tenant?: string; readonly json?: boolean },
): Promise<number> {
  const keys = await client.keys.list({ tenant });
  if (json) for (const key of keys) writeJson(output, key);
  else if (keys.length === 0) output.note('no access keys');
  else writeTable(output, formatTable([HEADING, ...keys.map(describeKey)]));
  return 0;
}

export async function revokeKey(
  { client, output }: AccessContext,
  id: string,
  { json }: { readonly json?: boolean },
): Promise<number> {
  const key = await client.keys.revoke(id);
  writeResult(output, json, key, `${id}  revoked. Servers refuse it after at most 5 s.`);
  return 0;
}

const HEADING = ['key', 'tenant', 'scopes', 'state', 'created', 'expires', 'last used', 'name'];

function describeKey(key: AccessKeyView): string[] {
  const { id, tenant, scopes, state, createdAt, expiresAt, usedAt, name } = key;
  const at = (ms: number | undefined): string => (ms === undefined ? 'never' : formatMinute(ms));
  return [id, tenant, scopes.join(','), state, at(createdAt), at(expiresAt), at(usedAt), name];
}
