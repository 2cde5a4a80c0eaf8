import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Deliverer } from '../../src/api/webhooks/deliverer.ts';
import { createWebhookSender } from '../../src/api/webhooks/sender.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { StoredWebhook } from '../../src/domain/webhook.ts';
import { newConversation, turnFor } from '../store/samples.ts';
import { openRedisStoreHarness } from '../store/store-harness.ts';
import { openReceiver, type ReceivedWebhook } from './receiver.ts';

interface Payload {
  readonly type: string;
  readonly data: { readonly conversation: string; readonly turn: string };
}

/** A tenant with a webhook to a receiver, and deliverers on a real Redis. */
async function openTenant(
  answer?: (response: ServerResponse, webhook: ReceivedWebhook) => void,
  over: Partial<StoredWebhook> = {},
) {
  const harness = openRedisStoreHarness();
  onTestFinished(() => harness.close());
  const { store } = harness;
  const { url, received } = await openReceiver(answer);
  const tenant = `t.${randomUUID()}`;
  const secret = `whsec_${Buffer.from(randomUUID()).toString('base64')}`;
  const webhook: StoredWebhook = {
    id: `w.${randomUUID()}`,
    tenant,
    url,
    events: ['turn.settled'],
    createdAt: 1,
    secret,
    ...over,
  };
  await store.addWebhook(webhook);
  const events: WorkerEvent[] = [];
  let aheadMs = 0;
  const openDeliverer = () => {
    const sender = createWebhookSender({ allowsPrivate: true });
    onTestFinished(() => sender.close());
    const deliverer = new Deliverer({
      store,
      sender,
      clock: { now: () => Date.now() + aheadMs },
      onEvent: (event) => void events.push(event),
      owner: 'worker',
    });
    /** Delivers everything that is unsent now, as if all pauses had passed. */
    const deliver = async (): Promise<void> => {
      await harness.makeDeliveriesDue();
      await deliverer.lookForDeliveries();
      await deliverer.idle();
    };
    return { deliverer, deliver };
  };
  return {
    store,
    webhook,
    received,
    events,
    openDeliverer,
    forgetSettings: () => void (aheadMs += 10_000),
    conversation: (): ConversationRef => ({ ...newConversation(), tenant }),
    settle: async (conversation: ConversationRef, ...turns: string[]) => {
      for (const turn of turns) {
        await store.accept(turnFor(conversation, turn));
        await store.cancel(conversation, turn, `wake-${turn}`);
      }
    },
    health: async () => (await store.listWebhooks()).find((status) => status.webhook.id === webhook.id)?.health,
  };
}

const read = ({ body }: ReceivedWebhook): Payload => JSON.parse(body) as Payload;
const turnsOf = (received: readonly ReceivedWebhook[]): string[] => received.map((request) => read(request).data.turn);

describe('delivery of webhooks', () => {
  test('a receiver verifies each webhook event with the package standardwebhooks, and a changed body fails', async () => {
    const { received, conversation, settle, webhook, openDeliverer } = await openTenant();
    const talk = conversation();
    await settle(talk, 't1', 't2');
    await openDeliverer().deliver();
    const verifier = new Webhook(webhook.secret);
    const payloads = received.map(({ body, headers }) => verifier.verify(body, headers as Record<string, string>));
    expect(payloads).toMatchObject([
      {
        type: 'turn.settled',
        timestamp: expect.stringMatching(/^20/) as string,
        data: { tenant: talk.tenant, conversation: talk.id, agent: 'agent', turn: 't1', state: 'canceled' },
      },
      { data: { turn: 't2' } },
    ]);
    const ids = received.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(2);
    const [{ body, headers } = { body: '', headers: {} }] = received;
    expect(() => verifier.verify(`${body} `, headers as Record<string, string>)).toThrow(/signature/);
  });

  test('webhook events of the same millisecond in two conversations have different message ids', async () => {
    const { received, conversation, settle, openDeliverer } = await openTenant();
    await Promise.all(Array.from({ length: 50 }, () => settle(conversation(), 't1')));
    const { deliver } = openDeliverer();
    while (received.length < 50) await deliver();
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(50);
  });

  test('after failed deliveries, the webhook events of a conversation arrive in order, and other conversations do not wait', async () => {
    let failures = 0;
    const broken: { conversation?: string } = {};
    const tenant = await openTenant((response, request) => {
      const isBroken = read(request).data.conversation === broken.conversation && failures < 3;
      if (isBroken) failures += 1;
      response.writeHead(isBroken ? 500 : 200).end();
    });
    const { received, conversation, settle, openDeliverer } = tenant;
    const [one, other] = [conversation(), conversation()];
    broken.conversation = one.id;
    await settle(one, 't1', 't2', 't3');
    await settle(other, 'o1');
    const { deliver } = openDeliverer();
    const of = ({ id }: ConversationRef) =>
      turnsOf(received.filter((request) => read(request).data.conversation === id));
    while (of(other).length === 0 || of(one).length < 6) await deliver();
    expect(of(one)).toEqual(['t1', 't1', 't1', 't1', 't2', 't3']);
    expect(of(other)).toEqual(['o1']);
    expect(tenant.events.filter((event) => event.type === 'webhook_sent' && event.outcome === 'failed')).toHaveLength(
      3,
    );
    expect(await tenant.health()).toEqual({});
  });

  test('a webhook deliverer that stops during a request loses no event, and the next deliverer sends the event again', async () => {
    let isHung = true;
    const tenant = await openTenant((response) => {
      if (!isHung) response.writeHead(200).end();
    });
    const { received, conversation, settle, openDeliverer } = tenant;
    await settle(conversation(), 't1', 't2');
    const { deliverer } = openDeliverer();
    await deliverer.lookForDeliveries();
    await expect.poll(() => received.length).toBe(1);
    await deliverer.stop();
    isHung = false;
    await openDeliverer().deliver();
    expect(turnsOf(received)).toEqual(['t1', 't1', 't2']);
    expect(received[0]?.headers['webhook-id']).toBe(received[1]?.headers['webhook-id']);
    expect(await tenant.health()).toEqual({});
  });

  test('a test event is sent once, also to a webhook that was set aside, and changes no health', async () => {
    let status = 410;
    const tenant = await openTenant((response) => void response.writeHead(status).end());
    const { received, conversation, settle, openDeliverer, webhook, store } = tenant;
    await settle(conversation(), 't1');
    await openDeliverer().deliver();
    const health = await tenant.health();
    expect(health).toMatchObject({ lastFailure: 'status 410' });
    received.splice(0);
    for (const [id, answered, outcome] of [
      ['one', 204, { status: 'delivered' }],
      ['two', 500, { status: 'failed', why: 'status 500' }],
    ] as const) {
      status = answered;
      await store.askTest(id, webhook.id, 60_000);
      expect(await store.readTest(id), 'before a worker has sent it').toBeUndefined();
      const deliverers = [openDeliverer(), openDeliverer()];
      for (const { deliver } of deliverers) await deliver();
      expect(await store.readTest(id)).toEqual({ ...outcome, durationMs: expect.any(Number) as number });
      expect(await store.readTest(id), 'the outcome is read once').toBeUndefined();
    }
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(['test_one', 'test_two']);
    expect(await tenant.health()).toEqual(health);
  });

  test('a test of a webhook that was removed meanwhile ends as failed', async () => {
    const { store, openDeliverer, webhook, received } = await openTenant();
    await store.askTest('late', webhook.id, 60_000);
    await store.removeWebhook(webhook.id);
    await openDeliverer().deliver();
    expect(await store.readTest('late')).toEqual({ status: 'failed', durationMs: 0, why: 'removed' });
    expect(received).toEqual([]);
  });

  test('a webhook receives only the event types that it subscribes to, of the agent that it names', async () => {
    const wrongAgent = await openTenant(undefined, { agent: 'other' });
    const wrongEvent = await openTenant(undefined, { events: ['version.committed'] });
    for (const { conversation, settle, openDeliverer, received, store } of [wrongAgent, wrongEvent]) {
      await settle(conversation(), 't1', 't2');
      await openDeliverer().deliver();
      expect(received).toEqual([]);
      const left = await Promise.all(store.webhookShards.map((shard) => store.claimDeliveries(shard, 10)));
      expect(left.flat()).toEqual([]);
    }
  });

  test('a webhook that answers 410 is set aside and reported, and continues with its first unsent event after retry', async () => {
    let status = 410;
    const tenant = await openTenant((response) => void response.writeHead(status).end());
    const { received, conversation, settle, openDeliverer, webhook, store, events, forgetSettings } = tenant;
    await settle(conversation(), 't1', 't2');
    const { deliver } = openDeliverer();
    await deliver();
    await deliver();
    expect(turnsOf(received)).toEqual(['t1']);
    expect(events).toContainEqual({
      type: 'webhook_set_aside',
      tenant: webhook.tenant,
      webhook: webhook.id,
      why: 'status 410',
    });
    expect(await tenant.health()).toMatchObject({ failures: 1, lastFailure: 'status 410' });
    status = 200;
    await store.clearFailures(webhook.id);
    forgetSettings();
    await deliver();
    expect(turnsOf(received)).toEqual(['t1', 't1', 't2']);
  });

  test('a webhook whose events expired unsent is reported, and receives the remaining events', async () => {
    const harness = openRedisStoreHarness();
    onTestFinished(() => harness.close());
    const tenant = await openTenant();
    const talk = tenant.conversation();
    await tenant.settle(talk, 't1', 't2');
    const [first] = (
      await Promise.all(tenant.store.webhookShards.map((shard) => tenant.store.claimDeliveries(shard, 10)))
    ).flat();
    if (first === undefined) throw new Error('nothing was claimed');
    // As if an earlier event had been trimmed.
    await tenant.store.postponeDelivery({ ...first, next: '1-1', event: { ...first.event, id: '1-1' } as never }, 0, 0);
    await tenant.openDeliverer().deliver();
    expect(turnsOf(tenant.received)).toEqual(['t1', 't2']);
    expect(tenant.events.map(({ type }) => type)).toContain('webhook_events_lost');
    expect(await tenant.health()).toEqual({ losses: 1 });
  });

  test('a webhook that was added after the deliverer read the settings receives its events', async () => {
    const tenant = await openTenant();
    const { deliver } = tenant.openDeliverer();
    await deliver();
    const late: StoredWebhook = { ...tenant.webhook, id: `w.${randomUUID()}` };
    await tenant.store.addWebhook(late);
    await tenant.settle(tenant.conversation(), 't1');
    await deliver();
    expect(turnsOf(tenant.received)).toEqual(['t1', 't1']);
  });
});
