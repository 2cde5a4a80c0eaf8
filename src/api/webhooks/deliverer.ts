import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../../domain/clock.ts';
import type { EventListener } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import {
  nameForWebhook,
  retryDelay,
  WEBHOOK_LIMITS,
  type WebhookEventName,
  writeWebhookBody,
} from '../../domain/webhook.ts';
import type { Delivery, WebhookStatus, WebhookStore } from '../../store/webhooks.ts';
import type { WebhookSender } from './sender.ts';

interface DelivererPorts {
  readonly store: WebhookStore;
  readonly sender: WebhookSender;
  readonly clock: Clock;
  readonly onEvent: EventListener;
  readonly owner: string;
}

const SETTINGS_MS = 5_000;
/** The owner renews the lease once a second. */
const LEASE_MS = 5_000;
/** A process without the lease asks for it at every third look, so it takes over from a dead owner within 8 s. */
const SKIPPED_LOOKS = 2;
const IN_PARALLEL = 32;
/** Requests in parallel to one webhook. A slow receiver leaves room for others. */
const PER_WEBHOOK = 8;
const CLAIMED = 4;
/** A delivery that waited this long after its claim is left to a later claim, because its claim could end meanwhile. */
const FRESH_MS = WEBHOOK_LIMITS.claimMs - WEBHOOK_LIMITS.requestMs;
const BUSY_MS = 1_000;
/** Receivers ignore events whose type they do not know. */
const TEST_EVENT = 'webhook.test';

interface Claimed {
  readonly delivery: Delivery;
  readonly claimedAt: number;
}

/**
 * Delivers webhooks. One process at a time looks for due deliveries. Each delivery has a claim of its own, so a second
 * process does no harm during a takeover. The events of a conversation are sent in order, so a failed event holds back
 * the later events of its conversation, but of no other.
 */
export class Deliverer {
  readonly #ports: DelivererPorts;
  readonly #stopping = new AbortController();
  readonly #waiting: Claimed[] = [];
  readonly #lanes = new Set<Promise<void>>();
  readonly #inFlight = new Map<string, number>();
  #statuses = new Map<string, WebhookStatus>();
  #listedAt = Number.NEGATIVE_INFINITY;
  #skipsLeft = 0;

  constructor(ports: DelivererPorts) {
    this.#ports = ports;
  }

  /** Claims due deliveries. Called once a second. */
  async lookForDeliveries(): Promise<void> {
    const { store, owner, clock } = this.#ports;
    if (this.#isStopped || this.#skipsLeft-- > 0) return;
    const isOwner = await store.holdDelivering(owner, LEASE_MS);
    this.#skipsLeft = isOwner ? 0 : SKIPPED_LOOKS;
    if (!isOwner) return;
    if (clock.now() - this.#listedAt >= SETTINGS_MS) await this.#listWebhooks();
    await this.#startTests();
    if (this.#statuses.size === 0 || this.#waiting.length > 0) return;
    const claimedAt = clock.now();
    const claimed = await Promise.all(store.webhookShards.map((shard) => store.claimDeliveries(shard, CLAIMED)));
    this.#waiting.push(...claimed.flat().map((delivery) => ({ delivery, claimedAt })));
    const lanes = Math.min(IN_PARALLEL - this.#lanes.size, this.#waiting.length);
    for (let count = 0; count < lanes; count += 1) {
      const lane = this.#work().finally(() => this.#lanes.delete(lane));
      this.#lanes.add(lane);
    }
  }

  /** A test is no delivery: it changes neither the outbox nor the health of its webhook. */
  async #startTests(): Promise<void> {
    const { store, onEvent } = this.#ports;
    const tests = await store.takeTests(Math.max(0, IN_PARALLEL - this.#lanes.size));
    if (tests.some(({ webhook }) => !this.#statuses.has(webhook))) await this.#listWebhooks();
    for (const { test, webhook } of tests) {
      const lane = this.#sendTest(test, webhook)
        .catch((error: unknown) => {
          if (!this.#isStopped) onEvent({ type: 'worker_failed', where: 'webhooks', error });
        })
        .finally(() => this.#lanes.delete(lane));
      this.#lanes.add(lane);
    }
  }

  async #sendTest(test: string, id: string): Promise<void> {
    const { store, sender, clock } = this.#ports;
    const webhook = this.#statuses.get(id)?.webhook;
    if (webhook === undefined) return await store.endTest(test, { status: 'failed', durationMs: 0, why: 'removed' });
    const { url, secret, tenant } = webhook;
    const startedAt = clock.now();
    const body = JSON.stringify({
      type: TEST_EVENT,
      timestamp: new Date(startedAt).toISOString(),
      data: { tenant, webhook: id },
    });
    const headers = signWebhook(secret, `test_${test}`, Math.floor(startedAt / 1_000), body);
    const outcome = await sender.send({ url, headers, body, signal: this.#stopping.signal });
    const durationMs = Math.max(0, clock.now() - startedAt);
    const why = outcome.status === 'failed' ? { why: outcome.why } : {};
    await store.endTest(test, { status: outcome.status, durationMs, ...why });
  }

  async idle(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.all(this.#lanes);
  }

  /** Gives deliveries back. Another process sends these events again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.idle();
    await this.#ports.store.holdDelivering(this.#ports.owner, 0).catch(() => undefined);
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #listWebhooks(): Promise<void> {
    const statuses = await this.#ports.store.listWebhooks();
    this.#statuses = new Map(statuses.map((status) => [status.webhook.id, status]));
    this.#listedAt = this.#ports.clock.now();
  }

  async #work(): Promise<void> {
    const { clock, onEvent } = this.#ports;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const { delivery, claimedAt } = next;
      if (clock.now() - claimedAt >= FRESH_MS) continue;
      try {
        await this.#deliver(delivery);
      } catch (error) {
        const scope = nameConversation(delivery.conversation);
        if (!this.#isStopped) onEvent({ type: 'worker_failed', where: 'webhooks', ...scope, error });
      }
    }
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { store } = this.#ports;
    const { webhook, attempts } = delivery;
    // The webhook may be newer than the list that this process read.
    if (!this.#statuses.has(webhook)) await this.#listWebhooks();
    const status = this.#statuses.get(webhook);
    if (status === undefined) return await this.#drop(delivery);
    const { failingSince, deadAt } = status.health;
    if (deadAt !== undefined) return await store.postponeDelivery(delivery, attempts, WEBHOOK_LIMITS.deadPauseMs);
    const inFlight = this.#inFlight.get(webhook) ?? 0;
    if (inFlight >= (failingSince === undefined ? PER_WEBHOOK : 1)) {
      return await store.postponeDelivery(delivery, attempts, BUSY_MS);
    }
    this.#inFlight.set(webhook, inFlight + 1);
    try {
      await this.#sendInOrder(delivery, status);
    } finally {
      this.#inFlight.set(webhook, (this.#inFlight.get(webhook) ?? 1) - 1);
    }
  }

  /** Skips all events of a webhook that was removed. */
  async #drop(delivery: Delivery): Promise<void> {
    let rest: Delivery | undefined = delivery;
    while (rest !== undefined) rest = await this.#ports.store.advanceDelivery(rest);
  }

  /** Sends the events of a conversation one by one, and skips those that the webhook does not want. */
  async #sendInOrder(first: Delivery, status: WebhookStatus): Promise<void> {
    const { store } = this.#ports;
    let delivery: Delivery | undefined = first;
    while (delivery !== undefined) {
      await this.#reportLoss(delivery);
      const { event, agent } = delivery;
      const name = event && nameForWebhook(status.webhook, event, agent);
      if (name !== undefined && !(await this.#send(delivery, name, status))) return;
      delivery = await store.advanceDelivery(delivery);
    }
  }

  /** Reports events that expired before they were sent. Events of an erased conversation do not count. */
  async #reportLoss({ webhook, conversation, agent, next, event }: Delivery): Promise<void> {
    if (agent === undefined || event?.id === next) return;
    await this.#ports.store.recordLoss(webhook);
    this.#ports.onEvent({ type: 'webhook_events_lost', ...nameConversation(conversation), webhook });
  }

  /** @returns false if the request failed and the delivery was given back */
  async #send(delivery: Delivery, name: WebhookEventName, status: WebhookStatus): Promise<boolean> {
    const { store, sender, clock, onEvent } = this.#ports;
    const { webhook, conversation, event } = delivery;
    if (event === undefined) return true;
    const { url, secret } = status.webhook;
    const body = writeWebhookBody(name, event, delivery);
    const id = webhookMessageId(conversation, event.id);
    const headers = signWebhook(secret, id, Math.floor(clock.now() / 1_000), body);
    const startedAt = clock.now();
    const outcome = await sender.send({ url, headers, body, signal: this.#stopping.signal });
    const scope = { ...nameConversation(conversation), webhook, event: name };
    if (outcome.status === 'delivered') {
      onEvent({ type: 'webhook_sent', ...scope, outcome: 'delivered', durationMs: clock.now() - startedAt });
      if (this.#statuses.get(webhook)?.health.failingSince !== undefined) await this.#clearFailures(status);
      return true;
    }
    if (this.#isStopped) {
      await store.postponeDelivery(delivery, delivery.attempts, 0);
      return false;
    }
    const { why, isFinal } = outcome;
    const attempts = delivery.attempts + 1;
    await store.postponeDelivery(delivery, attempts, retryDelay(attempts));
    const setsAside = await store.recordFailure(webhook, why, isFinal);
    onEvent({ type: 'webhook_sent', ...scope, outcome: 'failed', why, durationMs: clock.now() - startedAt });
    if (setsAside) onEvent({ type: 'webhook_set_aside', tenant: conversation.tenant, webhook, why });
    await this.#listWebhooks();
    return false;
  }

  async #clearFailures({ webhook, health }: WebhookStatus): Promise<void> {
    await this.#ports.store.clearFailures(webhook.id);
    const { losses } = health;
    this.#statuses.set(webhook.id, { webhook, health: losses === undefined ? {} : { losses } });
  }
}

/** Signs a request as Standard Webhooks requires: HMAC-SHA256 of `id.time.body`. */
function signWebhook(secret: string, id: string, timestamp: number, body: string): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` };
}

/** Event ids are unique only within their conversation, so the id of a message also has a hash of its name. */
function webhookMessageId({ tenant, id }: ConversationRef, event: string): string {
  const hash = createHash('sha256').update(`${tenant}/${id}`).digest('hex').slice(0, 16);
  return `${event}_${hash}`;
}
