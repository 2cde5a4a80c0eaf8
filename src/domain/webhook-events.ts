import type { WebhookEventName } from './webhook.ts';

export const WEBHOOK_OUTCOMES = ['delivered', 'failed'] as const;

export type WebhookEvent =
  | {
      readonly type: 'webhook_sent';
      readonly webhook: string;
      readonly event: WebhookEventName;
      readonly outcome: (typeof WEBHOOK_OUTCOMES)[number];
      /** Without parts of the response. */
      readonly why?: string;
      readonly durationMs: number;
    }
  /** Events expired before they could be sent. */
  | {
      readonly type: 'webhook_events_lost';
      readonly webhook: string;
    };

/** The webhook failed for too long, or its receiver wants no more requests. An operator must retry it. */
export type WebhookEndEvent = {
  readonly type: 'webhook_set_aside';
  readonly webhook: string;
  readonly why: string;
};
