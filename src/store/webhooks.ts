import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { ConversationEvent } from '../domain/conversation-event.ts';
import { decodeEvent } from '../domain/event-record.ts';
import type { ConversationRef } from '../domain/ids.ts';
import {
  type StoredWebhook,
  storedWebhookSchema,
  WEBHOOK_LIMITS,
  WEBHOOK_OUTCOMES,
  type WebhookHealth,
} from '../domain/webhook.ts';
import type { Keyspace } from './keys.ts';
import { bindLease } from './lease.ts';
import { callStore, pairsOf, RecordFields, readRecordJson, readTime } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/**
 * Webhooks, and the outbox: conversations with unsent events. The operation that writes an event adds it to the outbox
 * in the same step, so a crash loses no event. A script reaches only the keys of one slot. So each shard has an outbox,
 * and the ids of each tenant's webhooks. Settings and health lie in one slot.
 */
export function openWebhookStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  const list = bind(listWebhooksScript);
  const hold = bindLease(redis, keyspace, keyspace.delivering());
  const shards = keyspace.shardNumbers();
  return {
    webhookShards: shards as readonly number[],
    addWebhook: async (webhook: StoredWebhook): Promise<void> => {
      const { id, tenant } = webhook;
      // The settings are written first, because a worker drops the outbox entries of an unknown webhook.
      await callStore(() => redis.hset(keyspace.webhooks(), id, JSON.stringify(webhook)));
      await callStore(() => Promise.all(shards.map((shard) => redis.sadd(keyspace.tenantWebhooks(shard, tenant), id))));
    },
    listWebhooks: () => list(),
    removeWebhook: async (id: string): Promise<boolean> => {
      const found = (await list()).find(({ webhook }) => webhook.id === id);
      if (found === undefined) return false;
      const { tenant } = found.webhook;
      await callStore(() => Promise.all(shards.map((shard) => redis.srem(keyspace.tenantWebhooks(shard, tenant), id))));
      await callStore(() => redis.hdel(keyspace.webhooks(), id));
      await callStore(() => redis.del(keyspace.webhookHealth(id)));
      return true;
    },
    /** Clears the failures. A webhook that was set aside is then sent its events again. */
    clearFailures: async (id: string): Promise<void> => {
      const fields = ['failingSince', 'failures', 'lastFailure', 'deadAt'];
      await callStore(() => redis.hdel(keyspace.webhookHealth(id), ...fields));
    },
    recordFailure: bind(recordFailureScript),
    recordLoss: async (id: string): Promise<void> => {
      await callStore(() => redis.hincrby(keyspace.webhookHealth(id), 'losses', 1));
    },
    ...openWebhookTests(redis, keyspace),
    holdDelivering: async (owner: string, leaseMs: number): Promise<boolean> =>
      (await hold(owner, leaseMs)) !== undefined,
    claimDeliveries: bind(claimDeliveriesScript),
    advanceDelivery: bind(advanceDeliveryScript),
    postponeDelivery: bind(postponeDeliveryScript),
  };
}

/** Begins the value of a test that a worker has taken. Before that, the value is `<id of the webhook> <time in ms>`. */
const TAKEN = '=';
/** Callers wait for less time than this. */
const TEST_TTL_MS = 60_000;

async function writeTest(redis: Redis, keyspace: Keyspace, fields: readonly string[]): Promise<void> {
  const key = keyspace.webhookTests();
  await callStore(() => redis.hset(key, ...fields));
  await callStore(() => redis.pexpire(key, TEST_TTL_MS));
}

/** Tests of webhooks: a caller asks, and the process that delivers webhooks answers. */
function openWebhookTests(redis: Redis, keyspace: Keyspace) {
  return {
    /**
     * Asks the workers to send a test event. `test` is a new id. Each further test renews the TTL of the key, so each
     * test has the time until which its caller waits, by the clock of Redis.
     */
    askTest: async (test: string, webhook: string, waitMs: number): Promise<void> => {
      const until = (await readTime(redis)) + waitMs;
      await writeTest(redis, keyspace, [test, `${webhook} ${until}`]);
    },
    /**
     * Takes the tests that no worker has taken, and forgets those whose callers no longer wait. Only the process that
     * delivers webhooks calls this.
     */
    takeTests: async (limit: number): Promise<readonly WebhookTestRequest[]> => {
      const all = await callStore(() => redis.hgetall(keyspace.webhookTests()));
      const asked = Object.entries(all).filter(([, value]) => !value.startsWith(TAKEN));
      if (asked.length === 0) return [];
      const now = await readTime(redis);
      const [old, waited] = splitByTime(asked, now);
      if (old.length > 0) await callStore(() => redis.hdel(keyspace.webhookTests(), ...old));
      const taken = waited.slice(0, limit);
      const fields = taken.flatMap(({ test }) => [test, TAKEN]);
      if (fields.length > 0) await writeTest(redis, keyspace, fields);
      return taken;
    },
    endTest: async (test: string, outcome: WebhookTestOutcome): Promise<void> => {
      const isAwaited = await callStore(() => redis.hexists(keyspace.webhookTests(), test));
      if (isAwaited === 1) await writeTest(redis, keyspace, [test, `${TAKEN}${JSON.stringify(outcome)}`]);
    },
    /** Reads the outcome of a test, and forgets it. Undefined until a worker has sent the event. */
    readTest: async (test: string): Promise<WebhookTestOutcome | undefined> => {
      const key = keyspace.webhookTests();
      const value = (await callStore(() => redis.hget(key, test))) ?? '';
      if (!value.startsWith(TAKEN) || value === TAKEN) return undefined;
      await callStore(() => redis.hdel(key, test));
      return readRecordJson({ key, field: test }, value.slice(TAKEN.length), testOutcomeSchema);
    },
    /** Takes a test back. A worker that has taken it already sends its event. */
    dropTest: async (test: string): Promise<void> => {
      await callStore(() => redis.hdel(keyspace.webhookTests(), test));
    },
  };
}

/** An older program writes no time, so its test counts as new. */
function splitByTime(
  asked: readonly (readonly [test: string, value: string])[],
  now: number,
): readonly [old: readonly string[], waited: readonly WebhookTestRequest[]] {
  const old: string[] = [];
  const waited: WebhookTestRequest[] = [];
  for (const [test, value] of asked) {
    const [webhook = '', until = Number.POSITIVE_INFINITY] = value.split(' ');
    if (Number(until) > now) waited.push({ test, webhook });
    else old.push(test);
  }
  return [old, waited];
}

export interface WebhookTestRequest {
  readonly test: string;
  readonly webhook: string;
}

const testOutcomeSchema = z.object({
  status: z.enum(WEBHOOK_OUTCOMES),
  durationMs: z.number(),
  why: z.string().optional(),
});
export type WebhookTestOutcome = z.infer<typeof testOutcomeSchema>;

export type WebhookStore = ReturnType<typeof openWebhookStore>;

export interface WebhookStatus {
  readonly webhook: StoredWebhook;
  readonly health: WebhookHealth;
}

const listWebhooksScript: ScriptDefinition<[], WebhookStatus[]> = {
  file: 'list-webhooks',
  keys: (_, keyspace) => ({ webhooks: keyspace.webhooks() }),
  args: (_, keyspace) => ({ healthPrefix: keyspace.webhookHealth('') }),
  decode: (reply, _, keyspace) =>
    (reply as [id: string, json: string, health: string[]][]).map(([id, json, health]) => ({
      webhook: readRecordJson({ key: keyspace.webhooks(), field: id }, json, storedWebhookSchema),
      health: decodeHealth(RecordFields.ofList(keyspace.webhookHealth(id), health)),
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

/** @param isFinal true if the receiver wants no more requests */
const recordFailureScript: ScriptDefinition<[id: string, why: string, isFinal: boolean], boolean> = {
  file: 'record-webhook-failure',
  keys: ([id], keyspace) => ({ webhooks: keyspace.webhooks(), health: keyspace.webhookHealth(id) }),
  args: ([id, why, isFinal]) => ({ id, why, deadAfterMs: isFinal ? 0 : WEBHOOK_LIMITS.deadAfterMs }),
  decode: (reply) => reply === 1,
};

type EventReply = [id: string, fields: string[]];
type DeliveryReply = [name: string, position: string, agent: string, claim: string, ...EventReply[]];

/** Unsent events of one conversation for one webhook. One worker at a time owns a delivery. */
export interface Delivery {
  readonly shard: number;
  readonly webhook: string;
  readonly conversation: ConversationRef;
  readonly agent?: string;
  /** Id of the first event that was not sent. If `event` has another id, events have expired unsent. */
  readonly next: string;
  readonly attempts: number;
  readonly event?: ConversationEvent;
  /** Token of the claim. A later claim by another worker makes this claim invalid. */
  readonly claim: string;
}

const outboxKeys = (shard: number, keyspace: Keyspace) => ({
  outbox: keyspace.outbox(shard),
  positions: keyspace.outboxPositions(shard),
});

const claimDeliveriesScript: ScriptDefinition<[shard: number, limit: number], Delivery[]> = {
  file: 'claim-deliveries',
  keys: ([shard], keyspace) => outboxKeys(shard, keyspace),
  args: ([shard, limit], keyspace) => ({ shard: keyspace.shardPrefix(shard), limit, claimMs: WEBHOOK_LIMITS.claimMs }),
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
  return decodeEvent(id, Object.fromEntries(pairsOf(fields)));
}

const advanceDeliveryScript: ScriptDefinition<[delivery: Delivery], Delivery | undefined> = {
  file: 'advance-delivery',
  keys: ([{ shard, conversation }], keyspace) => ({
    ...outboxKeys(shard, keyspace),
    events: keyspace.key(conversation, 'ev'),
  }),
  args: ([delivery]) => ({
    name: nameOf(delivery),
    claim: delivery.claim,
    sentId: delivery.event?.id ?? delivery.next,
    claimMs: WEBHOOK_LIMITS.claimMs,
  }),
  decode: (reply, [delivery]) => {
    const [claim, following] = reply as [claim?: string, following?: EventReply];
    if (claim === undefined || following === undefined) return undefined;
    const event = toEvent(following);
    return { ...delivery, next: event.id, attempts: 0, event, claim };
  },
};

const postponeDeliveryScript: ScriptDefinition<[delivery: Delivery, attempts: number, delayMs: number], void> = {
  file: 'postpone-delivery',
  keys: ([{ shard }], keyspace) => outboxKeys(shard, keyspace),
  args: ([delivery, attempts, delayMs]) => {
    const next = delivery.event?.id ?? delivery.next;
    return { name: nameOf(delivery), claim: delivery.claim, position: `${next} ${attempts}`, delayMs };
  },
  decode: () => undefined,
};

function nameOf({ webhook, conversation }: Delivery): string {
  return `${webhook}|${conversation.tenant}|${conversation.id}`;
}
