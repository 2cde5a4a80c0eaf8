import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { openSession, textsOf } from '../chat/open-session.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';

const HOUR_MS = 3_600_000;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
});
afterAll(() => fixture.close());

function openApp(replayMs = HOUR_MS) {
  return aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide', replayMs });
}

async function enqueue(conversation: string, turn: string, input: string, delayMs?: number): Promise<void> {
  await fixture.client.enqueueTurn({ conversation, agent: 'guide', turn, input, ...(delayMs && { delayMs }) });
}

async function readWhole(path: string): Promise<string> {
  return await (await openApp().request(path)).text();
}

test('a page that names a turn gets the stream of this turn, whatever other turns are open', async () => {
  const id = 'named';
  const gate = Promise.withResolvers<void>();
  gates.set(id, gate);
  onTestFinished(() => void gates.delete(id));
  await enqueue(id, 'm1.1', 'one');
  await fixture.client.result(id, 'm1.1', { waitMs: 60_000 });
  await enqueue(id, 'm2.1', `hold ${id}`);
  await enqueue(id, 'm3.1', 'three');
  const settled = await readWhole(`/v1/chat/${id}/stream?turn=m1.1`);
  expect(settled).toContain('"type":"start","messageId":"m1.1"');
  expect(settled).toContain('heard one after 0 messages');
  const behind = readWhole(`/v1/chat/${id}/stream?turn=m3.1`);
  gate.resolve();
  expect(await behind).toContain('"type":"start","messageId":"m3.1"');
  expect(await behind).toContain('heard three after');
  expect(await behind).not.toContain('m2.1');
});

test('a named turn that ended before the replay time, or that is unknown, has no stream', async () => {
  const id = 'ended';
  await enqueue(id, 'm1.1', 'one');
  const { settledAt = 0 } = await fixture.client.result(id, 'm1.1', { waitMs: 60_000 });
  await expect.poll(async () => (await fixture.client.openTurns(id)).at).toBeGreaterThan(settledAt);
  expect((await openApp(1).request(`/v1/chat/${id}/stream?turn=m1.1`)).status).toBe(204);
  expect((await openApp().request(`/v1/chat/${id}/stream?turn=m2.1`)).status).toBe(204);
  expect((await openApp().request('/v1/chat/unknown/stream?turn=m1.1')).status).toBe(204);
});

test('a page goes on in the stream of the turn that it names, and a position of another turn is refused', async () => {
  const id = 'positioned';
  await enqueue(id, 'm1.1', 'one');
  await enqueue(id, 'm2.1', 'two');
  await fixture.client.result(id, 'm2.1', { waitMs: 60_000 });
  const [after = ''] = /(?<=^id: )\S+/m.exec(await readWhole(`/v1/chat/${id}/stream?turn=m1.1`)) ?? [];
  const going = `/v1/chat/${id}/stream?after=${encodeURIComponent(after)}`;
  expect((await openApp(1).request(`${going}&turn=m1.1`)).status).toBe(200);
  const refused = await openApp().request(`${going}&turn=m2.1`);
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: 'after' });
});

test('a page does not wait for a scheduled turn: its stream, and its message in the history, come once it is due', async () => {
  const id = 'scheduled';
  await enqueue(id, 'reminder', 'stand up', HOUR_MS);
  expect((await openApp().request(`/v1/chat/${id}/stream`)).status).toBe(204);
  const read = async (): Promise<unknown> => await (await openApp().request(`/v1/chat/${id}/messages`)).json();
  expect(await read()).toMatchObject({ messages: [], turns: [{ turn: 'reminder', state: 'scheduled' }] });
  const whole = await (await openApp().request(`/v1/chat/${id}`)).json();
  expect(whole).toMatchObject({ messages: [] });
  await enqueue(id, 'm1.1', 'one');
  await fixture.client.result(id, 'm1.1', { waitMs: 60_000 });
  expect(await readWhole(`/v1/chat/${id}/stream`)).toContain('"messageId":"m1.1"');
});

test('a page of a chat with a scheduled turn only is ready, and shows the answer to its own message', async () => {
  const id = 'scheduled-page';
  await enqueue(id, 'reminder', 'stand up', HOUR_MS);
  const app = openApp();
  const chat = openSession(id, {
    fetch: async (target, init) => await app.request(target instanceof Request ? target.url : target.toString(), init),
  });
  await expect.poll(() => chat.view().queue).toMatchObject([{ text: 'stand up', isScheduled: true }]);
  expect(chat.view()).toMatchObject({ status: 'ready', messages: [] });
  await chat.actions.send({ text: 'hi' });
  await expect.poll(() => textsOf(chat)).toEqual(['user: hi', 'assistant: heard hi after 0 messages']);
  await expect.poll(() => chat.view().status).toBe('ready');
  expect(chat.view().current).toBeUndefined();
});
