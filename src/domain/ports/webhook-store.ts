import type { ConversationEvent } from '../conversation-event.ts';
import type { ConversationRef } from '../ids.ts';
import type { StoredWebhook, WebhookHealth } from '../webhook.ts';

/** Unsent events of one conversation for one webhook. One worker at a time owns them. */
export interface Delivery {
  readonly shard: number;
  readonly webhook: string;
  readonly conversation: ConversationRef;
  /** Agent of the conversation. Absent if the conversation was erased. */
  readonly agent?: string;
  /** Id of the first event that was not sent. If `event` has another id, events have expired unsent. */
  readonly next: string;
  /** Failed attempts to send that event. */
  readonly attempts: number;
  /** The first unsent event. Absent if all have expired or the conversation was erased. */
  readonly event?: ConversationEvent;
  /** Token of the claim. A later claim of another worker voids it. */
  readonly claim: string;
}

export interface WebhookStatus {
  readonly webhook: StoredWebhook;
  readonly health: WebhookHealth;
}

/**
 * Stores webhooks, and the outbox: a durable list of conversations with unsent events. The operation that writes an event
 * adds it to the outbox in the same step, so a crash loses no event.
 */
export interface WebhookStore {
  readonly webhookShards: readonly number[];
  /** Adds a webhook. It receives the events that are written from now on. */
  addWebhook(webhook: StoredWebhook): Promise<void>;
  listWebhooks(): Promise<WebhookStatus[]>;
  /** Removes a webhook. Returns false if there is none. */
  removeWebhook(id: string): Promise<boolean>;
  /** Clears the failures of a webhook, so that a webhook that was set aside is sent its events again. */
  clearFailures(id: string): Promise<void>;
  /**
   * Records a failed request. Returns true if this failure sets the webhook aside.
   * @param isFinal the receiver wants no more requests
   */
  recordFailure(id: string, why: string, isFinal: boolean): Promise<boolean>;
  /** Counts that events of a webhook expired unsent. */
  recordLoss(id: string): Promise<void>;
  /** Takes or renews the lease of the one worker that delivers. With 0 ms the lease is given back. */
  holdDelivering(owner: string, leaseMs: number): Promise<boolean>;
  /** Claims deliveries of a shard that are due, oldest first. */
  claimDeliveries(shard: number, limit: number): Promise<Delivery[]>;
  /**
   * Records that the event of a delivery is sent, and renews the claim.
   * @returns the delivery of the next event, or undefined if no event is left or another worker has the claim
   */
  advanceDelivery(delivery: Delivery): Promise<Delivery | undefined>;
  /** Gives a claim back. The delivery is due after `delayMs`. */
  postponeDelivery(delivery: Delivery, attempts: number, delayMs: number): Promise<void>;
}
