import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import type { WhileWaiting } from '../../src/api/http/ai-sdk/while-waiting.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
});
afterAll(() => fixture.close());

interface Sent {
  readonly id: string;
  readonly replaces?: string;
  readonly text?: string;
}

interface PageOptions {
  readonly whileWaiting?: WhileWaiting;
  /** Called before the server cancels the turn of a message. */
  readonly beforeCancel?: () => Promise<void>;
}

/** A page that steers: each of its messages is to join the running turn. */
function openPage(chat: string, { whileWaiting = 'refuse', beforeCancel }: PageOptions = {}) {
  const { client } = fixture;
  const disturbed: typeof client = Object.create(client, {
    cancel: {
      value: async (...given: Parameters<typeof client.cancel>) => {
        await beforeCancel?.();
        return await client.cancel(...given);
      },
    },
  });
  const app = aiSdkApp({ authenticate: 'none', clientFor: () => disturbed, agent: 'guide', whileWaiting });
  const post = async (path: string, body: object) => {
    const response = await app.request(`/v1/chat/${chat}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
  const send = async ({ id, replaces, text = id }: Sent) =>
    await post('messages', {
      message: { id, role: 'user', parts: [{ type: 'text', text }] },
      ...(replaces !== undefined && { replaces, onBusy: 'steer' }),
    });
  return { send, stop: async (messageId: string) => await post('stop', { messageId }) };
}

/** Opens a chat in which the message `m1` is being answered until the gate opens, and `m2` waits behind it. */
async function openBusy(chat: string, options?: PageOptions) {
  const gate = Promise.withResolvers<void>();
  gates.set(chat, gate);
  onTestFinished(() => {
    gate.resolve();
    gates.delete(chat);
  });
  const page = openPage(chat, options);
  await page.send({ id: 'm1', text: `hold ${chat}` });
  await expect.poll(() => fixture.client.result(chat, 'm1.1')).toMatchObject({ state: 'running' });
  await page.send({ id: 'm2', text: 'second' });
  return { ...page, gate };
}

async function listSettledTexts(chat: string): Promise<string[]> {
  await expect.poll(async () => (await fixture.client.openTurns(chat)).turns).toEqual([]);
  const log = await fixture.client.log(chat);
  return log.flatMap(({ message: { role, content } }) => (role === 'user' ? [content] : []));
}

const conflict = { status: 409, body: expect.objectContaining({ code: 'conflict', field: 'replaces' }) };

test.each([
  ['that is unknown', 'unknown', 404],
  ['that a worker has begun', 'm1', 409],
])('a message that is to replace one %s denies no approval', async (_, replaces, status) => {
  const chat = `kept-${replaces}`;
  const { send } = openPage(chat, { whileWaiting: 'deny' });
  await send({ id: 'm1', text: 'call book' });
  await expect.poll(() => fixture.client.result(chat, 'm1.1')).toMatchObject({ state: 'waiting' });
  expect(await send({ id: 's1', replaces })).toMatchObject({ status, body: { field: 'replaces' } });
  const { waiting } = await fixture.client.result(chat, 'm1.1');
  expect(waiting?.calls).toMatchObject([{ name: 'book' }]);
  expect(waiting?.calls[0]).not.toHaveProperty('decision');
});

test('a message whose turn begins while a page lets it join another turn is answered once', async () => {
  const chat = 'begins';
  const { send, gate } = await openBusy(chat, {
    beforeCancel: async () => {
      gate.resolve();
      await fixture.client.result(chat, 'm2.1', { waitMs: 60_000 });
    },
  });
  expect(await send({ id: 's1', replaces: 'm2' })).toEqual(conflict);
  expect(await listSettledTexts(chat)).toEqual([`hold ${chat}`, 'second']);
});

test('a removed message does not come back when another tab lets it join the running turn', async () => {
  const chat = 'removed';
  const { send, stop, gate } = await openBusy(chat);
  expect(await stop('m2')).toMatchObject({ body: { state: 'canceled' } });
  expect(await send({ id: 's1', replaces: 'm2' })).toEqual(conflict);
  gate.resolve();
  expect(await listSettledTexts(chat)).toEqual([`hold ${chat}`]);
});

test('a message that two tabs let join the running turn is sent once', async () => {
  const chat = 'two-tabs';
  const { send, gate } = await openBusy(chat);
  expect(await send({ id: 's1', replaces: 'm2' })).toMatchObject({ status: 202 });
  expect(await send({ id: 's2', replaces: 'm2' })).toEqual(conflict);
  expect(await send({ id: 's1', replaces: 'm2' }), 'again').toMatchObject({ status: 202, body: { turn: 's1.1' } });
  gate.resolve();
  expect(await listSettledTexts(chat)).toEqual([`hold ${chat}`, 'second']);
});

test('a request that broke off behind the cancel of the old message goes on when it is repeated', async () => {
  const chat = 'broken-off';
  const { send, gate } = await openBusy(chat);
  await fixture.client.cancel(chat, 'm2.1', { replacedBy: 's1.1' });
  expect(await send({ id: 's2', replaces: 'm2', text: 'second' }), 'of another tab').toEqual(conflict);
  expect(await send({ id: 's1', replaces: 'm2', text: 'second' })).toMatchObject({ status: 202 });
  gate.resolve();
  expect(await listSettledTexts(chat)).toEqual([`hold ${chat}`, 'second']);
});
