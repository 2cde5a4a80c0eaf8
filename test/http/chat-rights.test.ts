import { afterAll, beforeAll, expect, test } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import type { Scope } from '../../src/domain/access-key.ts';
import { fetchWithKey, openPage, type Page, textsOf } from './chat-page.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';

const USER: readonly Scope[] = ['read', 'enqueue', 'answer'];

let http: HttpFixture;
let url: string;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers([createFrontEndAgent()]);
  const { client } = http;
  const protocols = createProtocols({ client, agent: 'guide' });
  ({ url } = await http.serve({ authenticate: authenticateByKey(client.keys), protocols }));
});
afterAll(() => http.close());

async function openWithKey(id: string, scopes: readonly Scope[], messages: Page['chat']['messages'] = []) {
  const { token } = await http.client.keys.create({ tenant: '_', scopes: [...scopes] });
  return openPage({ sdk: 7, url, id, messages, fetch: fetchWithKey(token) });
}

const shownIn = ({ chat }: Page) => chat.messages.map((message) => textsOf(message).join(''));

test('the key of a chat user may regenerate and edit the last user message', async () => {
  const page = await openWithKey('last', USER);
  const { chat, errors } = page;
  await chat.sendMessage({ text: 'one' });
  await chat.sendMessage({ text: 'two' });
  await chat.regenerate();
  await chat.regenerate();
  await chat.sendMessage({ text: 'three', messageId: chat.messages[2]?.id ?? '' });
  expect(errors).toEqual([]);
  expect(shownIn(page)).toEqual(['', 'heard one after 0 messages', '', 'heard three after 2 messages']);
});

test('an earlier user message is edited or regenerated only by a key with the scope admin', async () => {
  const page = await openWithKey('earlier', USER);
  await page.chat.sendMessage({ text: 'one' });
  await page.chat.sendMessage({ text: 'two' });
  const { messages } = page.chat;
  const [first, answer] = messages;
  const before = await http.client.versions('earlier');
  for (const act of [
    ({ chat }: Page) => chat.regenerate({ messageId: answer?.id ?? '' }),
    ({ chat }: Page) => chat.sendMessage({ text: 'other', messageId: first?.id ?? '' }),
  ]) {
    const refused = await openWithKey('earlier', USER, messages);
    await act(refused);
    expect(refused.errors.map(({ message }) => message)).toEqual([expect.stringContaining('needs the scope admin')]);
  }
  expect(await http.client.versions('earlier')).toEqual(before);
  const admin = await openWithKey('earlier', ['admin'], messages);
  await admin.chat.regenerate({ messageId: answer?.id ?? '' });
  expect(admin.errors).toEqual([]);
  expect(shownIn(admin)).toEqual(['', 'heard one after 0 messages']);
  const user = await openWithKey('earlier', USER, admin.chat.messages);
  await user.chat.regenerate();
  expect(user.errors, 'the message is the last one again').toEqual([]);
});

test('a user may regenerate the last answer of a chat with a scheduled turn, which stays scheduled', async () => {
  const page = await openWithKey('reminded', USER);
  await page.chat.sendMessage({ text: 'one' });
  const later = { agent: 'guide', turn: 'reminder', input: 'stand up', delayMs: 3_600_000 };
  await http.client.enqueueTurn({ conversation: 'reminded', ...later });
  for (const scopes of [USER, ['admin'] as const]) {
    const { chat, errors } = await openWithKey('reminded', scopes, page.chat.messages);
    await chat.regenerate();
    expect(errors).toEqual([]);
    expect(await http.client.result('reminded', 'reminder')).toMatchObject({ state: 'scheduled' });
    page.chat.messages = chat.messages;
  }
  expect(shownIn(page)).toEqual(['', 'heard one after 0 messages']);
});
