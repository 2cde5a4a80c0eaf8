import type { WebhookView } from '../../api/client/index.ts';
import { readWebhookEvents } from '../option-values.ts';
import { writeJson, writeResult } from '../output.ts';
import type { AccessContext } from '../run-command.ts';
import { formatMinute, formatTable, writeTable } from '../table.ts';

interface JsonOption {
  readonly json?: boolean;
}

export interface AddWebhookOptions extends JsonOption {
  readonly tenant: string;
  /** Names of events separated by commas. */
  readonly events?: string;
  readonly agent?: string;
}

/** Adds a webhook, and prints its secret alone to standard output. */
export async function addWebhook(
  { client, output }: AccessContext,
  url: string,
  { tenant, events, agent, json }: AddWebhookOptions,
): Promise<number> {
  const added = await client.webhooks.add({
    tenant,
    url,
    agent,
    events: events === undefined ? undefined : readWebhookEvents(events),
  });
  writeResult(output, json, { ...added.webhook, secret: added.secret }, added.secret);
  if (json) return 0;
  output.note(`webhook ${added.webhook.id} of tenant ${tenant}: ${added.webhook.events.join(', ')}`);
  output.note('Give the secret to the receiver. It is not shown again.');
  return 0;
}

export async function listWebhooks(
  { client, output }: AccessContext,
  { tenant, json }: JsonOption & { readonly tenant?: string },
): Promise<number> {
  const webhooks = await client.webhooks.list({ tenant });
  if (json) for (const webhook of webhooks) writeJson(output, webhook);
  else if (webhooks.length === 0) output.note('no webhooks');
  else writeTable(output, formatTable([HEADING, ...webhooks.map(describeWebhook)]));
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

const HEADING = ['webhook', 'tenant', 'state', 'address', 'events', 'trouble'];

function describeWebhook({ id, tenant, state, url, events, agent, ...health }: WebhookView): string[] {
  const { failures, failingSince, lastFailure, losses } = health;
  const trouble = [
    failingSince !== undefined && `${failures} failures since ${formatMinute(failingSince)}: ${lastFailure}`,
    losses !== undefined && `events lost ${losses} times`,
  ].filter((text) => text !== false);
  const wanted = agent === undefined ? events.join(',') : `${events.join(',')} of ${agent}`;
  return [id, tenant, state, url, wanted, trouble.join(', ')];
}
