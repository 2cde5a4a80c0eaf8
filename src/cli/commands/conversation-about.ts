import { z } from 'zod';
import { TOKEN_SCOPES } from '../../domain/conversation-token.ts';
import { readMetadataOption, readNames, readPeriod } from '../option-values.ts';
import { writeResult } from '../output.ts';
import type { AccessContext, ClientContext, ConversationOptions, JsonOption } from '../run-command.ts';
import { formatMinute } from '../table.ts';

interface UpdateOptions extends ConversationOptions {
  /** An empty text removes the value. */
  readonly owner?: string;
  readonly title?: string;
  readonly metadata?: string;
}

export async function update(
  { client, output }: ClientContext,
  id: string,
  { tenant, json, owner, title, metadata }: UpdateOptions,
): Promise<number> {
  const change = {
    ...(owner !== undefined && { owner: owner === '' ? null : owner }),
    ...(title !== undefined && { title: title === '' ? null : title }),
    ...(metadata !== undefined && { metadata: metadata === '' ? null : readMetadataOption(metadata) }),
  };
  const details = await client.updateConversation({ tenant, conversation: id }, change);
  const lines = Object.keys(change).map((field) => {
    const value = details[field as keyof typeof change];
    return `  ${field.padEnd(10)}  ${value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  writeResult(output, json, details, id, ...lines);
  return 0;
}

interface TokenOptions extends ConversationOptions {
  readonly scopes?: string;
  readonly expires: string;
  readonly owner?: string;
}

/** The token stands alone on standard output, so that a script can pass it on. */
export async function createToken(
  { client, output }: ClientContext,
  id: string,
  { tenant, json, scopes, expires, owner }: TokenOptions,
): Promise<number> {
  const created = await client.createConversationToken(
    { tenant, conversation: id },
    {
      expiresInMs: readPeriod(expires, '--expires'),
      ...(scopes !== undefined && { scopes: readNames(scopes, z.enum(TOKEN_SCOPES), '--scopes') }),
      ...(owner !== undefined && { owner }),
    },
  );
  writeResult(output, json, created, created.token);
  if (!json) output.note(`token of ${id}: ${created.scopes.join(', ')}, expires ${formatMinute(created.expiresAt)}`);
  return 0;
}

export async function rotateTokenSecret(
  { client, output }: AccessContext,
  { tenant, grace, json }: JsonOption & { readonly tenant: string; readonly grace: string },
): Promise<number> {
  const graceMs = readPeriod(grace, '--grace');
  await client.keys.rotateTokenSecret({ tenant, graceMs });
  writeResult(output, json, { tenant, graceMs }, `${tenant}  earlier tokens are accepted for ${grace}`);
  return 0;
}
