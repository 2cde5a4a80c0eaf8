import { decodeEvent } from '../domain/event-record.ts';
import type { Delivery, WebhookStore } from '../domain/ports/webhook-store.ts';
import { WEBHOOK_LIMITS, type WebhookHealth } from '../domain/webhook.ts';
import type { MemoryDatabase } from './database.ts';
import { idOf } from './event-store.ts';

/** Opens the store of webhooks in memory. The contract tests in test/store run against this store and against Redis. */
export function openMemoryWebhookStore(db: MemoryDatabase): WebhookStore {
  const { webhooks, outbox } = db;
  const health = new Map<string, WebhookHealth>();
  let lease = { owner: '', until: 0 };
  return {
    webhookShards: [0],
    addWebhook: async (webhook) => void webhooks.set(webhook.id, webhook),
    listWebhooks: async () => [...webhooks].map(([id, webhook]) => ({ webhook, health: health.get(id) ?? {} })),
    removeWebhook: async (id) => {
      health.delete(id);
      return webhooks.delete(id);
    },
    clearFailures: async (id) => {
      const { losses } = health.get(id) ?? {};
      health.set(id, losses === undefined ? {} : { losses });
    },
    recordFailure: async (id, why, isFinal) => {
      if (!webhooks.has(id)) return false;
      const known = health.get(id) ?? {};
      const { failingSince = db.now(), failures = 0, deadAt } = known;
      const isDead = isFinal || db.now() - failingSince >= WEBHOOK_LIMITS.deadAfterMs;
      const setsAside = isDead && deadAt === undefined;
      const failing = { ...known, failingSince, failures: failures + 1, lastFailure: why };
      health.set(id, setsAside ? { ...failing, deadAt: db.now() } : failing);
      return setsAside;
    },
    recordLoss: async (id) => {
      const known = health.get(id) ?? {};
      health.set(id, { ...known, losses: (known.losses ?? 0) + 1 });
    },
    holdDelivering: async (owner, leaseMs) => {
      if (lease.owner !== owner && lease.until > db.now()) return false;
      lease = { owner, until: db.now() + leaseMs };
      return leaseMs > 0;
    },
    claimDeliveries: async (_shard, limit) => claimDeliveries(db, limit),
    advanceDelivery: async (delivery) => {
      const entry = findClaimed(db, delivery);
      if (entry === undefined) return undefined;
      const sent = delivery.event?.id ?? delivery.next;
      const event = listEvents(db, delivery).find(({ id }) => isLater(id, sent));
      if (event === undefined) {
        outbox.delete(nameOf(delivery));
        return undefined;
      }
      const dueAt = Math.max(db.now() + WEBHOOK_LIMITS.claimMs, entry.dueAt + 1);
      outbox.set(nameOf(delivery), { ...entry, next: event.id, attempts: 0, dueAt });
      return { ...delivery, next: event.id, attempts: 0, event, claim: String(dueAt) };
    },
    postponeDelivery: async (delivery, attempts, delayMs) => {
      const entry = findClaimed(db, delivery);
      if (entry === undefined) return;
      const next = delivery.event?.id ?? delivery.next;
      outbox.set(nameOf(delivery), { ...entry, next, attempts, dueAt: db.now() + delayMs });
    },
  };
}

function claimDeliveries(db: MemoryDatabase, limit: number): Delivery[] {
  const now = db.now();
  const due = [...db.outbox].filter(([, { dueAt }]) => dueAt <= now);
  const first = due.toSorted(([, one], [, other]) => one.dueAt - other.dueAt).slice(0, limit);
  return first.map(([name, entry]) => {
    const { webhook, conversation, next, attempts } = entry;
    const dueAt = now + WEBHOOK_LIMITS.claimMs;
    db.outbox.set(name, { ...entry, dueAt });
    const agent = db.find(conversation)?.agent;
    const event = listEvents(db, entry).find(({ id }) => id === next || isLater(id, next));
    return {
      shard: 0,
      webhook,
      conversation,
      ...(agent !== undefined && { agent }),
      next,
      attempts,
      ...(event !== undefined && { event }),
      claim: String(dueAt),
    };
  });
}

function listEvents(db: MemoryDatabase, { conversation }: Pick<Delivery, 'conversation'>) {
  const events = db.find(conversation)?.events ?? [];
  return events.map((event) => decodeEvent(idOf(event), { type: event.type, ...event.fields }));
}

function findClaimed(db: MemoryDatabase, delivery: Delivery) {
  const entry = db.outbox.get(nameOf(delivery));
  return entry !== undefined && String(entry.dueAt) === delivery.claim ? entry : undefined;
}

function nameOf({ webhook, conversation }: Pick<Delivery, 'webhook' | 'conversation'>): string {
  return `${webhook}|${conversation.tenant}|${conversation.id}`;
}

function isLater(id: string, than: string): boolean {
  const [ms = 0, nth = 0] = id.split('-').map(Number);
  const [thanMs = 0, thanNth = 0] = than.split('-').map(Number);
  return ms > thanMs || (ms === thanMs && nth > thanNth);
}
