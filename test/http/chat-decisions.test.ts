import type { UIMessage } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { callsOf, openPage, type Sdk, textsOf } from './chat-page.ts';
import { createFrontEndAgent } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  server = await serveApp(
    aiSdkApp({
      authenticate: 'none',
      clientFor: () => fixture.client,
      agent: 'guide',
      replayMs: WAIT_MS,
      whileWaiting: 'enqueue',
    }),
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

const user = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });

type Chunk = { readonly type: string } & Readonly<Record<string, unknown>>;

async function post(body: object): Promise<Response> {
  return await fetch(`${server.url}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-ai-sdk-version': '7' },
    body: JSON.stringify({ trigger: 'submit-message', ...body }),
  });
}

async function chunksOf(response: Response): Promise<Chunk[]> {
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: {'));
  return frames.map((frame) => JSON.parse(frame.slice(6)) as Chunk);
}

/** Asks a question that needs approvals. @returns the answer as the page shows it, and the id of the question */
async function ask(id: string, text: string): Promise<{ asked: UIMessage; shown: UIMessage }> {
  const { chat } = openPage({ sdk: 7, url: server.url, id, sendsAutomatically: false });
  await chat.sendMessage({ text });
  const [asked, shown] = chat.messages;
  if (asked === undefined || shown === undefined) throw new Error('no answer');
  return { asked, shown };
}

/** Marks calls of a message as decided, as a page does before it sends them. */
function decide(message: UIMessage, approved: boolean, name?: string): UIMessage {
  const parts = message.parts.map((part) => {
    if (part.type !== 'dynamic-tool' || part.approval === undefined) return part;
    if (name !== undefined && part.toolName !== name) return part;
    return { ...part, state: 'approval-responded', approval: { ...part.approval, approved } };
  });
  return { ...message, parts } as UIMessage;
}

async function decisionsOf(id: string, turn: string): Promise<unknown[] | undefined> {
  const { waiting } = await fixture.client.result(id, turn);
  return waiting?.calls.map(({ name, decision }) => [name, decision?.approved]);
}

const usersOf = async (id: string): Promise<string[]> =>
  (await fixture.client.log(id)).flatMap(({ message: { role, content } }) => (role === 'user' ? [content] : []));

test('a chat request records a decision on an earlier message, and reports what its new message waits behind', async () => {
  const id = newId();
  const { asked, shown } = await ask(id, 'call book,pay');
  const messages = [asked, decide(shown, true, 'book'), user('m2', 'never mind')];
  const chunks = await chunksOf(await post({ id, messages }));
  expect(await decisionsOf(id, shown.id)).toEqual([
    ['book', true],
    ['pay', undefined],
  ]);
  const blocked = chunks.find(({ data }) => (data as { behind?: object } | undefined)?.behind !== undefined);
  const calls = [{ toolName: 'pay', input: { place: 'house here' }, approvalId: expect.stringMatching(/^c2_1\.\w+$/) }];
  expect(blocked).toMatchObject({
    type: 'data-turn',
    data: { turn: 'm2.1', state: 'queued', behind: { turn: shown.id, for: 'approval', calls } },
  });
  expect(chunks.at(-1)).toMatchObject({ type: 'finish' });
  // The page sends the other decision with its next request, which gets the answer to the last message.
  const next = await chunksOf(await post({ id, messages: [asked, decide(shown, true), user('m2', 'never mind')] }));
  expect(next.map(({ delta = '' }) => delta).join('')).toContain('heard never mind');
  expect(await usersOf(id)).toEqual(['call book,pay', 'never mind']);
  expect(await fixture.client.result(id, shown.id)).toMatchObject({ state: 'completed' });
});

describe.for<Sdk>([5, 6, 7])('useChat of AI SDK %s', (sdk) => {
  test('a chat is ready while a question waits behind open calls, and sends the answers to these calls', async () => {
    const id = newId();
    const { chat, data, errors } = openPage({ sdk, url: server.url, id });
    await chat.sendMessage({ text: 'call book' });
    const [call] = callsOf(chat.lastMessage);
    await chat.sendMessage({ text: 'hello' });
    const shown = chat.messages.map(({ role }) => role);
    expect({ errors, status: chat.status, shown }).toEqual({
      errors: [],
      status: 'ready',
      shown: ['user', 'assistant', 'user'],
    });
    expect(data).toContainEqual(
      expect.objectContaining({
        data: expect.objectContaining({ behind: expect.objectContaining({ for: 'approval' }) }),
      }),
    );
    const toolCallId = call?.toolCallId ?? '';
    if (sdk === 5) {
      // A page of version 5 can answer its last message only.
      await fixture.client.answer(id, chat.messages[1]?.id ?? '', { [toolCallId]: { approved: true } });
    } else {
      await chat.addToolApprovalResponse({ id: call?.approval?.id ?? '', approved: true });
      await chat.sendMessage();
      expect(textsOf(chat.messages[1])[1]).toBe('So: booked');
      await chat.resumeStream();
      expect(textsOf(chat.lastMessage)).toEqual([expect.stringContaining('heard hello')]);
      expect(chat.messages.length).toBe(4);
    }
    const turn = `${chat.messages[2]?.id}.1`;
    expect(await fixture.client.result(id, turn, { waitMs: WAIT_MS })).toMatchObject({ state: 'completed' });
    expect(await usersOf(id)).toEqual(['call book', 'hello']);
    expect((await fixture.client.log(id)).map(({ message }) => message.content)).toContain('booked');
  });
});

test('a chat request with a decision that contradicts an earlier decision is a conflict, and its new message is not accepted', async () => {
  const id = newId();
  const { asked, shown } = await ask(id, 'call book,pay');
  const [call] = (await fixture.client.result(id, shown.id)).waiting?.calls ?? [];
  await fixture.client.answer(id, shown.id, { [call?.id ?? '']: { approved: false } });
  const refused = await post({ id, messages: [asked, decide(shown, true, 'book'), user('m2', 'hello')] });
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ code: 'conflict' });
  expect((await fixture.client.openTurns(id)).turns.map(({ turn }) => turn)).toEqual([shown.id]);
});

test('a decision that contradicts the recorded decision is a conflict, even after the turn has continued', async () => {
  const id = newId();
  const { asked, shown } = await ask(id, 'call book');
  await chunksOf(await post({ id, messages: [asked, decide(shown, true)] }));
  const refused = await post({ id, messages: [asked, decide(shown, false)] });
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ code: 'conflict', details: { decision: { approved: true } } });
  expect((await post({ id, messages: [asked, decide(shown, true)] })).status).toBe(200);
});

test('a chat request records a decision on the named message, and accepts the question behind it', async () => {
  const id = newId();
  const { asked, shown } = await ask(id, 'call book');
  const messages = [asked, decide(shown, true), user('m2', 'hello')];
  const chunks = await chunksOf(await post({ id, messageId: shown.id, messages }));
  expect(chunks.map(({ delta = '' }) => delta).join('')).toBe('So: booked');
  expect(await fixture.client.result(id, 'm2.1', { waitMs: WAIT_MS })).toMatchObject({ state: 'completed' });
});

test('a chat request may bring the result of one call together with the approval of another', async () => {
  const id = newId();
  const { asked, shown } = await ask(id, 'call book,locate');
  const parts = decide(shown, true).parts.map((part) => {
    const isLocated = part.type === 'dynamic-tool' && part.toolName === 'locate';
    return isLocated ? { ...part, state: 'output-available', output: 'at home' } : part;
  });
  const chunks = await chunksOf(await post({ id, messages: [asked, { ...shown, parts }] }));
  expect(chunks.map(({ delta = '' }) => delta).join('')).toBe('So: booked | at home');
});

test('a chat begins the turn of a message whose request was lost, in the order of the page', async () => {
  const id = newId();
  const messages = [user('m1', 'one'), user('m2', 'two')];
  const chunks = await chunksOf(await post({ id, messages }));
  expect(chunks.map(({ delta = '' }) => delta).join('')).toContain('heard two after 2 messages');
  await chunksOf(await post({ id, messages }));
  expect(await usersOf(id)).toEqual(['one', 'two']);
});

test('a chat does not repeat a message whose turn is no longer kept', async () => {
  const id = newId();
  await chunksOf(await post({ id, messages: [user('m1', 'fail')] }));
  const key = (await fixture.redis.keys(`*:t:${id}:m1.1`))[0] ?? (await fixture.redis.keys('*m1.1'))[0];
  expect(key).toBeDefined();
  await fixture.redis.del(key ?? '');
  await chunksOf(await post({ id, messages: [user('m1', 'fail'), user('m2', 'hello')] }));
  expect(await usersOf(id)).toEqual(['fail', 'hello']);
});

test('a refused chat message does not block the next message', async () => {
  const id = newId();
  const picture = { id: 'm1', role: 'user', parts: [{ type: 'file', url: 'data:,x', mediaType: 'image/png' }] };
  expect((await post({ id, messages: [picture] })).status).toBe(422);
  expect((await post({ id, messages: [picture, user('m2', 'hello')] })).status).toBe(200);
});

test('a chat refuses the id of a message that does not exist', async () => {
  const refused = await post({ id: newId(), messageId: 'm9', messages: [user('m1', 'hello')] });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: 'messageId' });
});
