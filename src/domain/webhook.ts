import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';
import type { ConversationEvent } from './conversation-event.ts';
import { type ConversationRef, idSchema, nameConversation } from './ids.ts';

/** Events that webhooks send, by the names that receivers see. */
export const WEBHOOK_EVENTS = {
  'turn.settled': 'turn_settled',
  'turn.waiting': 'turn_waiting',
  'version.committed': 'version_committed',
} as const satisfies Readonly<Record<string, ConversationEvent['type']>>;

export type WebhookEventName = keyof typeof WEBHOOK_EVENTS;

const NAMES = Object.keys(WEBHOOK_EVENTS) as [WebhookEventName, ...WebhookEventName[]];

export const WEBHOOK_LIMITS = {
  perTenant: 16,
  urlCharacters: 2_048,
  /** A delivery belongs to its worker for this time, which exceeds the timeout of a request. */
  claimMs: 30_000,
  requestMs: 15_000,
  responseBytes: 65_536,
  /**
   * After this time without a success, a webhook is set aside. Events are kept for 24 h, so 12 h are left for a retry.
   */
  deadAfterMs: 12 * 3_600_000,
  /** Pause between two checks whether an operator has retried the webhook. */
  deadPauseMs: 60_000,
  firstRetryMs: 5_000,
  longestRetryMs: 600_000,
} as const;

export interface Webhook {
  readonly id: string;
  readonly tenant: string;
  /** Address that receives the events. */
  readonly url: string;
  /** Names of the events that are sent. */
  readonly events: readonly WebhookEventName[];
  /** Absent: conversations of all agents. */
  readonly agent?: string | undefined;
  /** In ms since epoch. */
  readonly createdAt: number;
}

export interface StoredWebhook extends Webhook {
  readonly secret: string;
}

/** Failures since the last success of a webhook. All fields are absent while requests succeed. */
export interface WebhookHealth {
  /** Time of the first failed request since the last success. */
  readonly failingSince?: number;
  /** Failed requests since the last success. */
  readonly failures?: number;
  /** Cause of the last failure, without contents of the response. */
  readonly lastFailure?: string;
  /** Nothing is sent until an operator retries the webhook. */
  readonly deadAt?: number;
  /** How often events expired before they could be sent. */
  readonly losses?: number;
}

export const webhookEventSchema = z.enum(NAMES, `must be one of ${NAMES.join(', ')}`);

export const webhookInputSchema = z.strictObject({
  tenant: idSchema,
  url: z.string().max(WEBHOOK_LIMITS.urlCharacters),
  events: boundedList(webhookEventSchema, 100)
    .min(1)
    .default([...NAMES]),
  agent: idSchema.optional(),
});

export const storedWebhookSchema = z.object({
  id: z.string(),
  tenant: idSchema,
  url: z.string(),
  events: boundedList(z.enum(NAMES), 100),
  agent: idSchema.optional(),
  createdAt: z.number(),
  secret: z.string(),
});

export function nameForWebhook(
  { events, agent }: Webhook,
  event: ConversationEvent,
  ofAgent: string | undefined,
): WebhookEventName | undefined {
  if (agent !== undefined && agent !== ofAgent) return undefined;
  return events.find((name) => WEBHOOK_EVENTS[name] === event.type);
}

/** Writes the body as the specification Standard Webhooks recommends. */
export function writeWebhookBody(
  name: WebhookEventName,
  event: ConversationEvent,
  { conversation, agent }: { readonly conversation: ConversationRef; readonly agent?: string },
): string {
  const { type: _, at, ...fields } = event;
  const data = { ...nameConversation(conversation), ...(agent !== undefined && { agent }), ...fields };
  return JSON.stringify({ type: name, timestamp: new Date(at).toISOString(), data });
}

/** Delay before the next attempt: 5 s, 10 s, 20 s … 10 min. @param attempts failed attempts so far, at least 1 */
export function retryDelay(attempts: number): number {
  return Math.min(WEBHOOK_LIMITS.firstRetryMs * 2 ** (attempts - 1), WEBHOOK_LIMITS.longestRetryMs);
}

export const WEBHOOK_OUTCOMES = ['delivered', 'failed'] as const;

export type WebhookEvent =
  | {
      readonly type: 'webhook_sent';
      /** Id of the webhook. */
      readonly webhook: string;
      /** Name of the event that was sent, such as `turn.settled`. */
      readonly event: WebhookEventName;
      readonly outcome: (typeof WEBHOOK_OUTCOMES)[number];
      /** Cause of the failure, without parts of the response. */
      readonly why?: string;
      readonly durationMs: number;
    }
  /** Events expired before they could be sent. */
  | {
      readonly type: 'webhook_events_lost';
      /** Id of the webhook. */
      readonly webhook: string;
    };

/** The webhook failed for too long, or its receiver wants no more requests. An operator must retry it. */
export type WebhookEndEvent = {
  readonly type: 'webhook_set_aside';
  /** Id of the webhook. */
  readonly webhook: string;
  readonly why: string;
};
