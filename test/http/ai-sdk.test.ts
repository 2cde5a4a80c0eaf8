import type { UIMessage } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { callsOf, openPage, type Sdk, textsOf } from './chat-page.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  server = await serveApp(
    aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide', replayMs: 0 }),
  );
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

function newId(): string {
  count += 1;
  return `chat-${count}`;
}

async function answersOf(id: string, turn: string | undefined): Promise<string[]> {
  const log = await fixture.client.log(id);
  return log
    .filter((entry) => entry.turn === turn && entry.message.role === 'assistant')
    .map(({ message }) => message.content);
}

async function readHistory(id: string): Promise<UIMessage[]> {
  const { messages } = (await (await fetch(`${server.url}/v1/chat/${id}`)).json()) as { messages: UIMessage[] };
  return messages;
}

async function stop(id: string, body?: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { headers, body: JSON.stringify(body) };
  return await fetch(`${server.url}/v1/chat/${id}/stop`, { method: 'POST', ...sent });
}

async function countTurns(id: string): Promise<number> {
  return new Set((await fixture.client.log(id)).map(({ turn }) => turn)).size;
}

function openGate(): { name: string; open: () => void } {
  const name = newId();
  const gate = Promise.withResolvers<void>();
  gates.set(name, gate);
  return { name, open: gate.resolve };
}

describe.for<Sdk>([5, 6, 7])('useChat of AI SDK %s', (sdk) => {
  const open = (id: string, more: object = {}) => openPage({ sdk, url: server.url, id, ...more });

  test('the answer that a chat shows is the text of the log', async () => {
    const id = newId();
    const { chat, errors } = open(id, { isNamed: false });
    await chat.sendMessage({ text: 'hello' });
    expect({ errors, status: chat.status }).toEqual({ errors: [], status: 'ready' });
    expect(textsOf(chat.lastMessage)).toEqual(await answersOf(id, chat.lastMessage?.id));
    await chat.sendMessage({ text: 'again' });
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  });

  test('a chat shows a tool call of the worker with its result', async () => {
    const id = newId();
    const { chat } = open(id, { sendsAutomatically: false });
    await chat.sendMessage({ text: 'call look' });
    expect(callsOf(chat.lastMessage)).toMatchObject([{ state: 'output-available', output: { sky: 'blue' } }]);
    expect(textsOf(chat.lastMessage)).toEqual(await answersOf(id, chat.lastMessage?.id));
  });

  test('a chat answers a tool call in the page, and continues the message', async () => {
    const id = newId();
    const { chat, errors } = open(id);
    await chat.sendMessage({ text: 'call locate,look' });
    const [call] = callsOf(chat.lastMessage);
    expect(call?.state).toBe('input-available');
    await chat.addToolOutput({ tool: 'locate', toolCallId: call?.toolCallId ?? '', output: { at: 'home' } });
    await expect.poll(() => textsOf(chat.lastMessage).length).toBe(2);
    await expect.poll(() => chat.status).toBe('ready');
    expect(errors).toEqual([]);
    expect(callsOf(chat.lastMessage).map(({ output }) => output)).toEqual([{ at: 'home' }, { sky: 'blue' }]);
    expect(textsOf(chat.lastMessage)).toEqual(await answersOf(id, chat.lastMessage?.id));
    expect(chat.messages.length).toBe(2);
  });

  test.for([true, false])('a chat asks for approval of a call (approved: %s)', async (approved) => {
    const id = newId();
    const { chat, data, errors } = open(id);
    await chat.sendMessage({ text: 'call book' });
    const [call] = callsOf(chat.lastMessage);
    const toolCallId = call?.toolCallId ?? '';
    if (sdk === 5) {
      expect(data).toContainEqual(expect.objectContaining({ type: 'data-approval', id: toolCallId }));
      await chat.addToolOutput({ tool: 'book', toolCallId, output: { approved, why: 'too dear' } });
    } else {
      expect(call?.state).toBe('approval-requested');
      await chat.addToolApprovalResponse({ id: call?.approval?.id ?? '', approved, reason: 'too dear' });
    }
    await expect.poll(() => textsOf(chat.lastMessage).length).toBe(2);
    await expect.poll(() => chat.status).toBe('ready');
    expect(errors).toEqual([]);
    expect(textsOf(chat.lastMessage)[1]).toBe(approved ? 'So: booked' : 'So: denied: too dear');
    if (sdk > 5) expect(callsOf(chat.lastMessage)[0]?.state).toBe(approved ? 'output-available' : 'output-denied');
  });

  test('a chat that is reloaded resumes an answer from its start', async () => {
    const id = newId();
    const gate = openGate();
    const first = open(id);
    const sent = first.chat.sendMessage({ text: `hold ${gate.name}` });
    await expect.poll(() => textsOf(first.chat.lastMessage)).toEqual(['One ']);
    const messages = await readHistory(id);
    expect(messages).toMatchObject([{ role: 'user', id: first.chat.messages[0]?.id }]);
    const second = open(id, { messages });
    const resumed = second.chat.resumeStream();
    await expect.poll(() => textsOf(second.chat.lastMessage)).toEqual(['One ']);
    gate.open();
    await Promise.all([sent, resumed]);
    expect(textsOf(second.chat.lastMessage)).toEqual(['One two.']);
    expect(textsOf(second.chat.lastMessage, 'reasoning')).toEqual(['Hm, ']);
    expect(second.chat.messages.map((message) => message.id)).toEqual(first.chat.messages.map((message) => message.id));
    expect((await fetch(`${server.url}/v1/chat/${id}/stream`)).status).toBe(204);
  });

  test('regenerating an answer in a chat removes the first answer from the context', async () => {
    const id = newId();
    const { chat } = open(id);
    await chat.sendMessage({ text: 'hello' });
    const first = chat.lastMessage?.id;
    await chat.regenerate();
    const second = chat.lastMessage?.id;
    await chat.regenerate({ messageId: second ?? '' });
    expect(chat.messages.length).toBe(2);
    expect(new Set([first, second, chat.lastMessage?.id]).size).toBe(3);
    expect(textsOf(chat.lastMessage)).toEqual(['heard hello after 0 messages']);
    const messages = await readHistory(id);
    expect(messages.map((message) => message.id)).toEqual(chat.messages.map((message) => message.id));
  });

  test('editing a message in a chat removes the messages after it from the context', async () => {
    const id = newId();
    const { chat } = open(id);
    await chat.sendMessage({ text: 'hello' });
    await chat.sendMessage({ text: 'more' });
    await chat.sendMessage({ text: 'bye', messageId: chat.messages[0]?.id ?? '' });
    expect(chat.messages.map((message) => textsOf(message).join(''))).toEqual(['', 'heard bye after 0 messages']);
  });

  test('a chat reports a failed turn with its code', async () => {
    const { chat, errors } = open(newId());
    await chat.sendMessage({ text: 'fail' });
    expect(chat.status).toBe('error');
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('model_failed: ')]);
  });

  test('if a second model answers, a chat shows its text, which the log has', async () => {
    const id = newId();
    const gate = openGate();
    const { chat, errors } = open(id);
    const sent = chat.sendMessage({ text: `break ${gate.name}` });
    await expect.poll(() => textsOf(chat.lastMessage)).toEqual(['Nothing ']);
    gate.open();
    await sent;
    expect(errors).toEqual([]);
    expect(textsOf(chat.lastMessage)).toEqual(['All is well.']);
    expect(await answersOf(id, chat.lastMessage?.id)).toEqual(['All is well.']);
  });

  test('the chat server stops reading a turn after the page has left', async () => {
    const id = newId();
    const gate = openGate();
    const { chat } = open(id);
    const sent = chat.sendMessage({ text: `hold ${gate.name}` });
    await expect.poll(() => textsOf(chat.lastMessage)).toEqual(['One ']);
    await chat.stop();
    await sent;
    await expect.poll(() => fixture.redis.pubsub('CHANNELS', `*:out:${id}:*`)).toEqual([]);
    gate.open();
  });

  test('a stopped answer keeps its text in the page, in the page after a reload, and in the log', async () => {
    const id = newId();
    const gate = openGate();
    const { chat, errors } = open(id);
    const sent = chat.sendMessage({ text: `hold ${gate.name}` });
    await expect.poll(() => textsOf(chat.lastMessage)).toEqual(['One ']);
    const stopped = await stop(id, { messageId: chat.lastMessage?.id });
    expect(await stopped.json()).toEqual({ turn: chat.lastMessage?.id, state: 'canceled' });
    await sent;
    gate.open();
    expect({ errors, texts: textsOf(chat.lastMessage) }).toEqual({ errors: [], texts: ['One '] });
    const shown = (await readHistory(id)).at(-1);
    expect([shown?.id, textsOf(shown), shown?.metadata]).toEqual([
      chat.lastMessage?.id,
      ['One '],
      { stopped: true, canceled: true, acceptedAt: expect.any(Number), settledAt: expect.any(Number) },
    ]);
    expect(chat.lastMessage?.metadata).toEqual(shown?.metadata);
    expect(await answersOf(id, chat.lastMessage?.id)).toEqual(['One ']);
    await chat.sendMessage({ text: 'go on' });
    expect(textsOf(chat.lastMessage)).toEqual(['heard go on after 2 messages']);
  });
});

test('a late stop of a chat message never stops the next message', async () => {
  for (let round = 0; round < 20; round += 1) {
    const id = newId();
    const gate = openGate();
    const { chat } = openPage({ sdk: 7, url: server.url, id });
    await chat.sendMessage({ text: 'hello' });
    const [asked, answer] = chat.messages.map((message) => message.id);
    const next = chat.sendMessage({ text: `hold ${gate.name}` });
    const [first, second] = await Promise.all([stop(id, { messageId: asked }), stop(id, { messageId: answer })]);
    for (const stopped of [first, second]) expect(await stopped.json()).toEqual({ turn: answer, state: 'completed' });
    gate.open();
    await next;
    expect(textsOf(chat.lastMessage)).toEqual(['One two.']);
  }
});

test('a stop that names a user message ends the answer to it, and leaves the messages behind it', async () => {
  const id = newId();
  const gate = openGate();
  const post = (messages: object[]) =>
    fetch(`${server.url}/v1/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, messages }),
    });
  const user = (message: string, text: string) => ({ id: message, role: 'user', parts: [{ type: 'text', text }] });
  const sent = [post([user('m1', `hold ${gate.name}`)])];
  await expect
    .poll(async () => (await fixture.client.result(id, 'm1.1').catch(() => undefined))?.state)
    .toBe('running');
  sent.push(post([user('m2', 'hello')]));
  await expect.poll(async () => (await fixture.client.openTurns(id)).turns.length).toBe(2);
  expect(await (await stop(id, { messageId: 'm1' })).json()).toEqual({ turn: 'm1.1', state: 'canceled' });
  await Promise.all(sent);
  gate.open();
  expect(await fixture.client.result(id, 'm2.1', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
});

test('a chat refuses a stop that names no message, or a message outside the chat', async () => {
  const id = newId();
  const { chat } = openPage({ sdk: 7, url: server.url, id });
  await chat.sendMessage({ text: 'hello' });
  for (const body of [undefined, {}]) {
    const refused = await stop(id, body);
    expect([refused.status, await refused.json()]).toMatchObject([422, { code: 'invalid_input', field: 'messageId' }]);
  }
  const unknown = await stop(id, { messageId: 'other' });
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 'not_found', field: 'messageId' }]);
  await fixture.client.enqueueTurn({ conversation: id, agent: 'guide', turn: `${chat.lastMessage?.id}.1`, input: 'x' });
  const unclear = await stop(id, { messageId: chat.lastMessage?.id });
  expect([unclear.status, await unclear.json()]).toMatchObject([409, { code: 'conflict', field: 'messageId' }]);
});

test('a chat request that arrives twice begins one turn', async () => {
  const id = newId();
  const twice: typeof fetch = async (input, init) => {
    const [first] = await Promise.all([fetch(input, init), fetch(input, init)]);
    return first;
  };
  const { chat } = openPage({ sdk: 7, url: server.url, id, fetch: twice });
  await chat.sendMessage({ text: 'hello' });
  expect(await countTurns(id)).toBe(1);
  await chat.regenerate({ messageId: chat.lastMessage?.id ?? '' });
  expect(await countTurns(id)).toBe(2);
  expect(textsOf(chat.lastMessage)).toEqual(['heard hello after 0 messages']);
});

test('the history of a chat shows messages of the user whose turns no worker has begun', async () => {
  const id = newId();
  const gate = openGate();
  const { chat } = openPage({ sdk: 7, url: server.url, id });
  const sent = chat.sendMessage({ text: `hold ${gate.name}` });
  await expect.poll(() => textsOf(chat.lastMessage)).toEqual(['One ']);
  const first = { id: chat.messages[0]?.id, role: 'user' };
  const enqueue = (turn: string, input: string) =>
    fixture.client.enqueueTurn({ conversation: id, agent: 'guide', turn, input });
  await enqueue('m-2.1', 'second');
  await enqueue('t3', 'third');
  const waiting = [
    { id: 'm-2', role: 'user', parts: [{ type: 'text', text: 'second' }] },
    { id: 't3.input', role: 'user', parts: [{ type: 'text', text: 'third' }] },
  ];
  expect(await readHistory(id)).toMatchObject([first, ...waiting]);
  gate.open();
  await sent;
  await fixture.client.result(id, 't3', { waitMs: 60_000 });
  const texts = (await readHistory(id)).map((message) => [message.role, message.id]);
  expect(texts.filter(([role]) => role === 'user').map(([, name]) => name)).toEqual([first.id, 'm-2', 't3.input']);
});

test('a chat replays an answer that ended while its page was cut off', async () => {
  const id = newId();
  const patient = await serveApp(aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' }));
  const { chat } = openPage({ sdk: 7, url: patient.url, id });
  await fixture.client.enqueueTurn({ conversation: id, agent: 'guide', input: 'hello', turn: 'm.1' });
  await fixture.client.result(id, 'm.1', { waitMs: 60_000 });
  await chat.resumeStream();
  expect(textsOf(chat.lastMessage)).toEqual(['heard hello after 0 messages']);
  await patient.close();
});

test('a chat answers a request that names no message with problem+json', async () => {
  const post = (body: string) =>
    fetch(`${server.url}/v1/chat`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const refused = await post('{"id":"a b","messages":[]}');
  expect(refused.status).toBe(422);
  expect(refused.headers.get('content-type')).toBe('application/problem+json');
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: 'id' });
  const broken = await post('{');
  expect(await broken.json()).toMatchObject({ code: 'invalid_input', field: 'body' });
});
