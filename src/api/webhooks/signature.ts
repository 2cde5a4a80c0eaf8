import { createHash, createHmac } from 'node:crypto';
import type { ConversationRef } from '../../domain/ids.ts';

export interface SignedMessage {
  readonly id: string;
  /** Seconds since epoch. */
  readonly timestamp: number;
  readonly body: string;
}

/** Headers of a request by Standard Webhooks: id, time, and HMAC-SHA256 of `id.time.body`. */
export function signWebhook(secret: string, { id, timestamp, body }: SignedMessage): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signature}` };
}

/**
 * Builds the id by which receivers recognize a repeated delivery. Event ids are unique only within their conversation, so
 * the id also has a hash of the conversation's name.
 */
export function webhookMessageId({ tenant, id }: ConversationRef, event: string): string {
  const hash = createHash('sha256').update(`${tenant}/${id}`).digest('hex').slice(0, 16);
  return `${event}_${hash}`;
}
