import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ConversationRef } from '../../../src/domain/ids.ts';
import type { StoredWebhook } from '../../../src/domain/webhook.ts';
import type { Delivery } from '../../../src/store/webhooks.ts';
import { newConversation, turnFor } from '../samples.ts';
import type { Given } from './fixture.ts';

export function describeWebhookStore(given: Given): void {
  /** Adds a webhook of a tenant that no other test uses. */
  async function addWebhook(): Promise<{ webhook: StoredWebhook; conversation: ConversationRef }> {
    const tenant = `t.${randomUUID()}`;
    const webhook: StoredWebhook = {
      id: `w.${randomUUID()}`,
      tenant,
      url: 'https://example.com/hook',
      events: ['turn.settled'],
      createdAt: 1,
      secret: 'whsec_c2VjcmV0',
    };
    await given.harness().store.addWebhook(webhook);
    return { webhook, conversation: { ...newConversation(), tenant } };
  }

  /** Settles the turns. Each settlement writes one event. */
  async function settle(conversation: ConversationRef, ...turns: string[]): Promise<void> {
    const { store } = given.harness();
    for (const turn of turns) {
      await store.accept(turnFor(conversation, turn));
      await store.cancel(conversation, turn, `wake-${turn}`);
    }
  }

  async function claim({ id }: StoredWebhook): Promise<Delivery[]> {
    const { store } = given.harness();
    const claimed = await Promise.all(store.webhookShards.map((shard) => store.claimDeliveries(shard, 100)));
    return claimed.flat().filter(({ webhook }) => webhook === id);
  }

  async function claimOne(webhook: StoredWebhook): Promise<Delivery> {
    const [delivery, ...others] = await claim(webhook);
    if (delivery === undefined || others.length > 0) throw new Error('expected one delivery');
    return delivery;
  }

  const turnOf = (delivery?: Delivery) => (delivery?.event?.type === 'turn_settled' ? delivery.event.turn : undefined);

  test('webhooks are listed with their settings, and are no longer listed once removed', async () => {
    const { store } = given.harness();
    const { webhook } = await addWebhook();
    const find = async () => (await store.listWebhooks()).find((status) => status.webhook.id === webhook.id);
    expect(await find()).toEqual({ webhook, health: {} });
    expect(await store.removeWebhook(webhook.id)).toBe(true);
    expect(await find()).toBeUndefined();
    expect(await store.removeWebhook(webhook.id)).toBe(false);
  });

  test('a test of a webhook is taken once, its outcome is read once, and then it is forgotten', async () => {
    const { store } = given.harness();
    const [first, second] = [`test.${randomUUID()}`, `test.${randomUUID()}`];
    const take = async (limit: number) => (await store.takeTests(limit)).filter(({ test: id }) => id === first);
    await store.askTest(first, 'w.1', 60_000);
    expect(await store.readTest(first)).toBeUndefined();
    expect(await store.takeTests(0)).toEqual([]);
    expect(await take(100)).toEqual([{ test: first, webhook: 'w.1' }]);
    expect(await take(100)).toEqual([]);
    expect(await store.readTest(first), 'taken, and not yet sent').toBeUndefined();
    await store.endTest(first, { status: 'failed', durationMs: 7, why: 'timeout' });
    expect(await store.readTest(second)).toBeUndefined();
    expect(await store.readTest(first)).toEqual({ status: 'failed', durationMs: 7, why: 'timeout' });
    expect(await store.readTest(first)).toBeUndefined();
  });

  test('a test of a webhook is not taken after the time for which its caller waits, or once the caller takes it back', async () => {
    const { store } = given.harness();
    const [late, left, asked] = [`test.${randomUUID()}`, `test.${randomUUID()}`, `test.${randomUUID()}`];
    await store.askTest(late, 'w.1', 0);
    await store.askTest(left, 'w.1', 60_000);
    await store.dropTest(left);
    await store.askTest(asked, 'w.1', 60_000);
    const own = (await store.takeTests(100)).filter(({ test: id }) => [late, left, asked].includes(id));
    expect(own).toEqual([{ test: asked, webhook: 'w.1' }]);
    await store.dropTest(asked);
    await store.endTest(asked, { status: 'delivered', durationMs: 7 });
    expect(await store.readTest(asked), 'ended after its caller left').toBeUndefined();
  });

  test('events of a tenant are delivered in order to its webhook, until no event is left', async () => {
    const { store, makeDeliveriesDue } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle(conversation, 't1', 't2');
    const first = await claimOne(webhook);
    expect(turnOf(first)).toBe('t1');
    expect(first).toMatchObject({ conversation, agent: 'agent', next: first.event?.id, attempts: 0 });
    const second = await store.advanceDelivery(first);
    expect(turnOf(second)).toBe('t2');
    await settle(conversation, 't3');
    const third = second && (await store.advanceDelivery(second));
    expect(turnOf(third)).toBe('t3');
    expect(third && (await store.advanceDelivery(third))).toBeUndefined();
    await makeDeliveriesDue();
    expect(await claim(webhook)).toEqual([]);
    await settle(conversation, 't4');
    expect(turnOf(await claimOne(webhook))).toBe('t4');
  });

  test('a tenant without a webhook, or with a removed webhook, adds no entry to the outbox', async () => {
    const { store } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle({ ...conversation, tenant: `${conversation.tenant}2` }, 't1');
    await store.removeWebhook(webhook.id);
    await settle(conversation, 't1');
    expect(await claim(webhook)).toEqual([]);
  });

  test('a claimed webhook delivery is claimed again only after its claim ends, and then from its first unsent event', async () => {
    const { store, makeDeliveriesDue } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle(conversation, 't1', 't2');
    await store.advanceDelivery(await claimOne(webhook));
    expect(await claim(webhook)).toEqual([]);
    await makeDeliveriesDue();
    expect(turnOf(await claimOne(webhook))).toBe('t2');
  });

  test('a worker that lost its claim on a webhook delivery can neither advance nor postpone the delivery', async () => {
    const { store, makeDeliveriesDue } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle(conversation, 't1', 't2');
    const frozen = await claimOne(webhook);
    await makeDeliveriesDue();
    const second = await store.advanceDelivery(await claimOne(webhook));
    expect(await store.advanceDelivery(frozen)).toBeUndefined();
    await store.postponeDelivery(frozen, 9, 0);
    expect(await claim(webhook)).toEqual([]);
    expect(second && (await store.advanceDelivery(second))).toBeUndefined();
    await makeDeliveriesDue();
    expect(await claim(webhook)).toEqual([]);
  });

  test('a postponed webhook delivery is due after its pause, with the number of its attempts, and new events wait behind it', async () => {
    const { store, makeDeliveriesDue } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle(conversation, 't1');
    const delivery = await claimOne(webhook);
    await store.postponeDelivery(delivery, 1, 60_000);
    await settle(conversation, 't2');
    expect(await claim(webhook)).toEqual([]);
    await makeDeliveriesDue();
    const again = await claimOne(webhook);
    expect(again).toMatchObject({ attempts: 1, next: delivery.next });
    expect(turnOf(again)).toBe('t1');
    expect(await store.advanceDelivery(again)).toMatchObject({ attempts: 0, event: { turn: 't2' } });
  });

  test('a webhook delivery shows that events expired before they were sent', async () => {
    const { trimEvents } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle(conversation, 't1', 't2');
    await trimEvents(conversation, 1);
    const delivery = await claimOne(webhook);
    expect(turnOf(delivery)).toBe('t2');
    expect(delivery.next).not.toBe(delivery.event?.id);
  });

  test('an erased conversation has no webhook delivery', async () => {
    const { store } = given.harness();
    const { webhook, conversation } = await addWebhook();
    await settle(conversation, 't1');
    await store.erase(conversation);
    expect(await claim(webhook)).toEqual([]);
    await given.harness().makeDeliveriesDue();
    expect(await claim(webhook)).toEqual([]);
  });

  test('a webhook has failures until a success clears them, and is set aside once by a final failure', async () => {
    const { store } = given.harness();
    const { webhook } = await addWebhook();
    const health = async () => (await store.listWebhooks()).find((status) => status.webhook.id === webhook.id)?.health;
    expect(await store.recordFailure(webhook.id, 'status 500', false)).toBe(false);
    await store.recordLoss(webhook.id);
    expect(await store.recordFailure(webhook.id, 'status 410', true)).toBe(true);
    expect(await store.recordFailure(webhook.id, 'status 410', true)).toBe(false);
    const failed = await health();
    expect(failed).toMatchObject({ failures: 3, lastFailure: 'status 410', losses: 1 });
    expect(failed?.deadAt).toBeGreaterThanOrEqual(failed?.failingSince ?? Number.NaN);
    await store.clearFailures(webhook.id);
    expect(await health()).toEqual({ losses: 1 });
    expect(await store.recordFailure(`w.${randomUUID()}`, 'status 500', true)).toBe(false);
  });

  test('only one worker at a time has the lease to deliver webhooks', async () => {
    const { store } = given.harness();
    const [one, other] = [randomUUID(), randomUUID()];
    expect(await store.holdDelivering(one, 60_000)).toBe(true);
    expect(await store.holdDelivering(other, 60_000)).toBe(false);
    expect(await store.holdDelivering(one, 60_000)).toBe(true);
    await store.holdDelivering(one, 0);
    expect(await store.holdDelivering(other, 60_000)).toBe(true);
    await store.holdDelivering(other, 0);
  });
}
