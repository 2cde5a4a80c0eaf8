import type { WebhookEventName } from './webhook.ts';

/** Outcomes of a request to a webhook. */
export const WEBHOOK_OUTCOMES = ['delivered', 'failed'] as const;

export type WebhookEvent =
  | {
      readonly type: 'webhook_sent';
      /** Id of the webhook. */
      readonly webhook: string;
      /** Name of the event that was sent, such as `turn.settled`. */
      readonly event: WebhookEventName;
      readonly outcome: (typeof WEBHOOK_OUTCOMES)[number];
      /** Why the request failed, without parts of the response. */
      readonly why?: string;
      readonly durationMs: number;
    }
  /** Events of a conversation expired before they could be sent to a webhook. */
  | {
      readonly type: 'webhook_events_lost';
      /** Id of the webhook. */
      readonly webhook: string;
    };

/** A webhook failed for too long, or its receiver wants no more requests. Nothing is sent until an operator retries it. */
export type WebhookEndEvent = {
  readonly type: 'webhook_set_aside';
  /** Id of the webhook. */
  readonly webhook: string;
  /** Why the last request failed. */
  readonly why: string;
};
