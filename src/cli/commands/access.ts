import { z } from 'zod';
import type { AccessKeyView, IssuedKey, WebhookView } from '../../api/client/index.ts';
import { SCOPES } from '../../domain/access-key.ts';
import { webhookEventSchema } from '../../domain/webhook.ts';
import { readNames, readPeriod } from '../option-values.ts';
import { type Output, writeJson, writeResult } from '../output.ts';
import type { AccessContext, ConversationOptions, JsonOption, ListOptions } from '../run-command.ts';
import { formatMinute, formatTable, writeTable } from '../table.ts';

type TenantOptions = Pick<ListOptions, 'tenant' | 'json'>;

interface CreateKeyOptions extends ConversationOptions {
  readonly scopes: string;
  readonly expires?: string;
  readonly name?: string;
}

export async function createKey({ client, output }: AccessContext, options: CreateKeyOptions): Promise<number> {
  const { tenant, scopes, expires, name, json } = options;
  const issued = await client.keys.create({
    tenant,
    scopes: readNames(scopes, z.enum(SCOPES), '--scopes'),
    ...(name !== undefined && { name }),
    ...(expires !== undefined && { expiresInMs: readPeriod(expires, '--expires') }),
  });
  printIssued(output, issued, json);
  return 0;
}

export async function rotateKey(
  { client, output }: AccessContext,
  id: string,
  { grace, json }: JsonOption & { readonly grace: string },
): Promise<number> {
  const issued = await client.keys.rotate(id, { graceMs: readPeriod(grace, '--grace') });
  printIssued(output, issued, json);
  if (!json) output.note(`the secret before this one is accepted for ${grace}`);
  return 0;
}

/** Prints a new key. The token stands alone on standard output, so that a script can store it. */
function printIssued(output: Output, { key, token }: IssuedKey, isJson: boolean | undefined): void {
  writeResult(output, isJson, { ...key, token }, token);
  if (isJson) return;
  const expiry = key.expiresAt === undefined ? 'does not expire' : `expires ${formatMinute(key.expiresAt)}`;
  output.note(`key ${key.id} of tenant ${key.tenant}: ${key.scopes.join(', ')}, ${expiry}`);
  output.note('Store the token now. It is not shown again.');
}

export async function listKeys({ client, output }: AccessContext, { tenant, json }: TenantOptions): Promise<number> {
  const keys = await client.keys.list({ tenant });
  if (json) for (const key of keys) writeJson(output, key);
  else printTable(output, [KEY_HEADING, ...keys.map(describeKey)], 'no access keys');
  return 0;
}

function printTable(output: Output, rows: readonly (readonly string[])[], ifEmpty: string): void {
  if (rows.length > 1) writeTable(output, formatTable(rows));
  else output.note(ifEmpty);
}

export async function revokeKey({ client, output }: AccessContext, id: string, { json }: JsonOption): Promise<number> {
  const key = await client.keys.revoke(id);
  writeResult(output, json, key, `${id}  revoked. Servers refuse it after at most 5 s.`);
  return 0;
}

const KEY_HEADING = ['key', 'tenant', 'scopes', 'state', 'created', 'expires', 'last used', 'name'];

function describeKey(key: AccessKeyView): string[] {
  const { id, tenant, scopes, state, createdAt, expiresAt, usedAt, name } = key;
  const at = (ms: number | undefined): string => (ms === undefined ? 'never' : formatMinute(ms));
  return [id, tenant, scopes.join(','), state, at(createdAt), at(expiresAt), at(usedAt), name];
}

interface AddWebhookOptions extends ConversationOptions {
  readonly events?: string;
  readonly agent?: string;
}

export async function addWebhook(
  { client, output }: AccessContext,
  url: string,
  { tenant, events, agent, json }: AddWebhookOptions,
): Promise<number> {
  const added = await client.webhooks.add({
    tenant,
    url,
    agent,
    events: events === undefined ? undefined : readNames(events, webhookEventSchema, '--events'),
  });
  writeResult(output, json, { ...added.webhook, secret: added.secret }, added.secret);
  if (json) return 0;
  output.note(`webhook ${added.webhook.id} of tenant ${tenant}: ${added.webhook.events.join(', ')}`);
  output.note('Give the secret to the receiver. It is not shown again.');
  return 0;
}

export async function listWebhooks(
  { client, output }: AccessContext,
  { tenant, json }: TenantOptions,
): Promise<number> {
  const webhooks = await client.webhooks.list({ tenant });
  if (json) for (const webhook of webhooks) writeJson(output, webhook);
  else printTable(output, [WEBHOOK_HEADING, ...webhooks.map(describeWebhook)], 'no webhooks');
  return 0;
}

export async function removeWebhook(
  { client, output }: AccessContext,
  id: string,
  { json }: JsonOption,
): Promise<number> {
  await client.webhooks.remove(id);
  writeResult(output, json, { id }, `${id}  removed`);
  return 0;
}

export async function retryWebhook(
  { client, output }: AccessContext,
  id: string,
  { json }: JsonOption,
): Promise<number> {
  const webhook = await client.webhooks.retry(id);
  writeResult(output, json, webhook, `${id}  is sent its events again within a minute`);
  return 0;
}

/** @returns the exit code: 1 unless the event was delivered */
export async function testWebhook(
  { client, output }: AccessContext,
  id: string,
  { json }: JsonOption,
): Promise<number> {
  const tested = await client.webhooks.test(id);
  const { status, durationMs, why } = tested;
  const time = durationMs === undefined ? '' : ` in ${durationMs} ms`;
  writeResult(output, json, tested, `${id}  ${status}${time}${why === undefined ? '' : `: ${why}`}`);
  if (!json && status === 'not_sent') output.note('Start a worker: turnfold worker --agents <file>');
  return status === 'delivered' ? 0 : 1;
}

const WEBHOOK_HEADING = ['webhook', 'tenant', 'state', 'address', 'events', 'trouble'];

function describeWebhook({ id, tenant, state, url, events, agent, ...health }: WebhookView): string[] {
  const { failures, failingSince, lastFailure, losses } = health;
  const trouble = [
    failingSince !== undefined && `${failures} failures since ${formatMinute(failingSince)}: ${lastFailure}`,
    losses !== undefined && `events lost ${losses} times`,
  ].filter((text) => text !== false);
  const wanted = agent === undefined ? events.join(',') : `${events.join(',')} of ${agent}`;
  return [id, tenant, state, url, wanted, trouble.join(', ')];
}
