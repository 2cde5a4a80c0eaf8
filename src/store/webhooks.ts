import type { Redis } from 'ioredis';
import type { ConversationEvent } from '../domain/conversation-event.ts';
import { decodeEvent } from '../domain/event-record.ts';
import type { Delivery, WebhookStatus, WebhookStore } from '../domain/ports/webhook-store.ts';
import { storedWebhookSchema, WEBHOOK_LIMITS } from '../domain/webhook.ts';
import { toRecord } from './events.ts';
import type { Keyspace } from './keys.ts';
import { bindLease } from './lease.ts';
import { callStore, RecordFields, readJson } from './records.ts';
import { type ScriptDefinition, type ScriptOf, scriptBinder } from './script.ts';

/**
 * Opens the store of webhooks. Settings and health of webhooks lie in one slot. Each shard has its own outbox, and the ids of
 * the webhooks of each tenant. The script that writes an event needs both, and reaches only its own slot.
 */
export function openWebhookStore(redis: Redis, keyspace: Keyspace): WebhookStore {
  const bind = scriptBinder(redis, keyspace);
  const list = bind(listWebhooksScript);
  const hold = bindLease(redis, keyspace, keyspace.delivering());
  const shards = keyspace.shardNumbers();
  return {
    webhookShards: shards,
    addWebhook: async (webhook) => {
      const { id, tenant } = webhook;
      // The settings come first: a worker drops the outbox entries of an unknown webhook.
      await callStore(() => redis.hset(keyspace.webhooks(), id, JSON.stringify(webhook)));
      await callStore(() => Promise.all(shards.map((shard) => redis.sadd(keyspace.tenantWebhooks(shard, tenant), id))));
    },
    listWebhooks: () => list(),
    removeWebhook: async (id) => {
      const found = (await list()).find(({ webhook }) => webhook.id === id);
      if (found === undefined) return false;
      const { tenant } = found.webhook;
      await callStore(() => Promise.all(shards.map((shard) => redis.srem(keyspace.tenantWebhooks(shard, tenant), id))));
      await callStore(() => redis.hdel(keyspace.webhooks(), id));
      await callStore(() => redis.del(keyspace.webhookHealth(id)));
      return true;
    },
    clearFailures: async (id) => {
      const fields = ['failingSince', 'failures', 'lastFailure', 'deadAt'];
      await callStore(() => redis.hdel(keyspace.webhookHealth(id), ...fields));
    },
    recordFailure: bind(recordFailureScript),
    recordLoss: async (id) => {
      await callStore(() => redis.hincrby(keyspace.webhookHealth(id), 'losses', 1));
    },
    holdDelivering: async (owner, leaseMs) => (await hold(owner, leaseMs)) !== undefined,
    claimDeliveries: bind(claimDeliveriesScript),
    advanceDelivery: bind(advanceDeliveryScript),
    postponeDelivery: bind(postponeDeliveryScript),
  };
}

const listWebhooksScript: ScriptDefinition<[], WebhookStatus[]> = {
  file: 'list-webhooks',
  keys: (_, keyspace) => [keyspace.webhooks()],
  args: (_, keyspace) => [keyspace.webhookHealth('')],
  decode: (reply, _, keyspace) =>
    (reply as [id: string, json: string, health: string[]][]).map(([id, json, health]) => ({
      webhook: readJson({ key: keyspace.webhooks(), field: id }, json, storedWebhookSchema),
      health: decodeHealth(new RecordFields(keyspace.webhookHealth(id), new Map(Object.entries(toRecord(health))))),
    })),
};

function decodeHealth(fields: RecordFields): WebhookStatus['health'] {
  const counts = (['failingSince', 'failures', 'deadAt', 'losses'] as const).flatMap((field) => {
    const count = fields.count(field);
    return count === undefined ? [] : [[field, count] as const];
  });
  const lastFailure = fields.text('lastFailure');
  return { ...Object.fromEntries(counts), ...(lastFailure !== undefined && { lastFailure }) };
}

const recordFailureScript: ScriptOf<WebhookStore['recordFailure']> = {
  file: 'record-webhook-failure',
  keys: ([id], keyspace) => [keyspace.webhooks(), keyspace.webhookHealth(id)],
  args: ([id, why, isFinal]) => [id, why, isFinal ? 0 : WEBHOOK_LIMITS.deadAfterMs],
  decode: (reply) => reply === 1,
};

type EventReply = [id: string, fields: string[]];
type DeliveryReply = [name: string, position: string, agent: string, claim: string, ...EventReply[]];

const claimDeliveriesScript: ScriptOf<WebhookStore['claimDeliveries']> = {
  file: 'claim-deliveries',
  keys: ([shard], keyspace) => [keyspace.outbox(shard), keyspace.outboxPositions(shard)],
  args: ([shard, limit], keyspace) => [keyspace.shardPrefix(shard), limit, WEBHOOK_LIMITS.claimMs],
  decode: (reply, [shard]) => (reply as DeliveryReply[]).map((row) => decodeDelivery(row, shard)),
};

function decodeDelivery([name, position, agent, claim, event]: DeliveryReply, shard: number): Delivery {
  const [webhook = '', tenant = '', id = ''] = name.split('|');
  const [next = '', attempts] = position.split(' ');
  return {
    shard,
    webhook,
    conversation: { tenant, id },
    ...(agent !== '' && { agent }),
    next,
    attempts: Number(attempts),
    ...(event !== undefined && { event: toEvent(event) }),
    claim,
  };
}

function toEvent([id, fields]: EventReply): ConversationEvent {
  return decodeEvent(id, toRecord(fields));
}

const advanceDeliveryScript: ScriptOf<WebhookStore['advanceDelivery']> = {
  file: 'advance-delivery',
  keys: ([{ shard, conversation }], keyspace) => [
    keyspace.outbox(shard),
    keyspace.outboxPositions(shard),
    keyspace.key(conversation, 'ev'),
  ],
  args: ([delivery]) => [nameOf(delivery), delivery.claim, delivery.event?.id ?? delivery.next, WEBHOOK_LIMITS.claimMs],
  decode: (reply, [delivery]) => {
    const [claim, following] = reply as [claim?: string, following?: EventReply];
    if (claim === undefined || following === undefined) return undefined;
    const event = toEvent(following);
    return { ...delivery, next: event.id, attempts: 0, event, claim };
  },
};

const postponeDeliveryScript: ScriptOf<WebhookStore['postponeDelivery']> = {
  file: 'postpone-delivery',
  keys: ([{ shard }], keyspace) => [keyspace.outbox(shard), keyspace.outboxPositions(shard)],
  args: ([delivery, attempts, delayMs]) => {
    const next = delivery.event?.id ?? delivery.next;
    return [nameOf(delivery), delivery.claim, `${next} ${attempts}`, delayMs];
  },
  decode: () => undefined,
};

function nameOf({ webhook, conversation }: Delivery): string {
  return `${webhook}|${conversation.tenant}|${conversation.id}`;
}
