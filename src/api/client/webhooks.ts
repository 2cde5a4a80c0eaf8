import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IdSource } from '../../domain/clock.ts';
import { fieldError, TurnfoldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import {
  WEBHOOK_LIMITS,
  type Webhook,
  type WebhookEventName,
  type WebhookHealth,
  webhookInputSchema,
} from '../../domain/webhook.ts';
import type { WebhookStatus, WebhookStore } from '../../store/webhooks.ts';

export interface WebhookInput {
  readonly tenant: string;
  /** Address that receives the events, https unless the workers allow private addresses. */
  readonly url: string;
  /** Events to send (default: all). */
  readonly events?: readonly WebhookEventName[] | undefined;
  /** Agent whose conversations are sent (default: all agents). */
  readonly agent?: string | undefined;
}

export interface WebhookView extends Webhook, WebhookHealth {
  /** `failing`: requests fail and are repeated. `set_aside`: nothing is sent until an operator calls `retry`. */
  readonly state: 'active' | 'failing' | 'set_aside';
}

export interface AddedWebhook {
  /** The webhook, as `list` shows it. */
  readonly webhook: WebhookView;
  /** Secret of Standard Webhooks, for the receiver. It is not shown again. */
  readonly secret: string;
}

export interface Webhooks {
  /** Adds a webhook. It receives the events that are written from now on. */
  add(input: WebhookInput): Promise<AddedWebhook>;
  /** Lists webhooks, without secrets. */
  list(input?: { readonly tenant?: string | undefined }): Promise<WebhookView[]>;
  /** Removes a webhook with its unsent events. */
  remove(id: string): Promise<void>;
  /** Sends events again to a webhook that was set aside, from the first unsent one, within about a minute. */
  retry(id: string): Promise<WebhookView>;
  /**
   * Lets a worker send a signed event of the type `webhook.test` to a webhook, whatever its events and its state are.
   * Waits for the outcome, which does not change the state: at most 25 s. A test that no worker has taken by then is
   * not sent later.
   * @throws not_found, the signal's reason
   */
  test(id: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<WebhookTest>;
}

/** Outcome of a test event. */
export interface WebhookTest {
  /** Id of the webhook. */
  readonly webhook: string;
  /** `delivered`: a status from 200 to 299. `not_sent`: no worker has sent the event in time. */
  readonly status: 'delivered' | 'failed' | 'not_sent';
  /** Time of the request in ms. Absent if nothing was sent. */
  readonly durationMs?: number | undefined;
  /** Cause of the failure, without contents of the response. */
  readonly why?: string | undefined;
}

interface WebhookPorts {
  readonly webhooks: WebhookStore;
  readonly ids: IdSource;
  readonly now: () => number;
}

export function createWebhooks({ webhooks, ids, now }: WebhookPorts): Webhooks {
  const list: Webhooks['list'] = async ({ tenant } = {}) => {
    const only = parseInput(idSchema.optional(), tenant, 'tenant');
    const found = await webhooks.listWebhooks();
    return found
      .map(viewWebhook)
      .filter((webhook) => only === undefined || webhook.tenant === only)
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  };
  return {
    list,
    async add(input) {
      const read = parseInput(webhookInputSchema, input);
      const url = readUrl(read.url);
      const { tenant } = read;
      if ((await list({ tenant })).length >= WEBHOOK_LIMITS.perTenant) {
        // No field is named, because a request over HTTP has no tenant.
        const why = `tenant ${tenant} has ${WEBHOOK_LIMITS.perTenant} webhooks already, which is the limit. Remove one`;
        throw new TurnfoldError('invalid_input', why);
      }
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      const webhook = { ...read, url, id: ids.next(), createdAt: now(), secret };
      await webhooks.addWebhook(webhook);
      return { webhook: viewWebhook({ webhook, health: {} }), secret };
    },
    async remove(name) {
      const id = parseInput(idSchema, name, 'id');
      if (!(await webhooks.removeWebhook(id))) throw noWebhook(id);
    },
    async retry(name) {
      const id = parseInput(idSchema, name, 'id');
      await webhooks.clearFailures(id);
      const found = (await webhooks.listWebhooks()).find(({ webhook }) => webhook.id === id);
      if (found === undefined) throw noWebhook(id);
      return viewWebhook(found);
    },
    async test(name, { signal } = {}) {
      const id = parseInput(idSchema, name, 'id');
      if (!(await list()).some((webhook) => webhook.id === id)) throw noWebhook(id);
      signal?.throwIfAborted();
      const test = ids.next();
      await webhooks.askTest(test, id, TEST_WAIT_MS);
      try {
        for (const until = now() + TEST_WAIT_MS; now() < until; await waitFor(TEST_POLL_MS, signal)) {
          const outcome = await webhooks.readTest(test);
          if (outcome !== undefined) return { webhook: id, ...outcome };
        }
        return { webhook: id, status: 'not_sent', why: 'no worker has sent the event' };
      } finally {
        // If Redis does not answer, the worker that next looks for tests drops this one.
        await webhooks.dropTest(test).catch(() => undefined);
      }
    },
  };
}

/** A worker looks for tests once a second, and waits 15 s for an answer. Another worker takes over within 8 s. */
const TEST_WAIT_MS = 25_000;
const TEST_POLL_MS = 200;

async function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw error;
  });
}

/** Checks only the form. Workers check at each request where the name leads. */
function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw fieldError('invalid_input', 'url', 'must be an https address, such as https://example.com/turnfold');
  }
  if (url.username || url.password) {
    throw fieldError('invalid_input', 'url', 'must not contain a user or password. Receivers check the signature.');
  }
  url.hash = '';
  return url.href;
}

function viewWebhook({ webhook: { secret: _, ...webhook }, health }: WebhookStatus): WebhookView {
  const { deadAt, failingSince } = health;
  const state = deadAt !== undefined ? 'set_aside' : failingSince !== undefined ? 'failing' : 'active';
  return { ...webhook, ...health, state };
}

function noWebhook(id: string) {
  return fieldError('not_found', 'id', `no webhook ${id}`);
}
