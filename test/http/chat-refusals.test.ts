import { afterAll, beforeAll, expect, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { withOutages, withReadNotice } from './outage-client.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let otherServer: Awaited<ReturnType<typeof serveApp>>;
/** Errors that the next accepted messages meet, as in an outage. */
const outages: Error[] = [];
/** Resolves once the server has looked for the turn of a stop, and not found it. */
const looked = Promise.withResolvers<void>();
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const client = withReadNotice(withOutages(fixture, outages), looked.resolve);
  server = await serveApp(
    aiSdkApp({ authenticate: 'none', clientFor: () => client, agent: 'guide', whileWaiting: 'enqueue' }),
  );
  otherServer = await serveApp(
    aiSdkApp({ authenticate: 'none', clientFor: () => client, agent: 'other', whileWaiting: 'enqueue' }),
  );
});
afterAll(async () => {
  await server.close();
  await otherServer.close();
  await fixture.close();
});

const user = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });

interface Refusal {
  readonly code: string;
  readonly field?: string;
}

async function post(body: object, { url } = server): Promise<Response> {
  return await fetch(`${url}/v1/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-ai-sdk-version': '7' },
    body: JSON.stringify({ trigger: 'submit-message', ...body }),
  });
}

/** A chat whose turn m1.1 waits for the approval of a call. */
async function openWaiting() {
  count += 1;
  const id = `refused-${count}`;
  await (await post({ id, messages: [user('m1', 'call book')] })).text();
  const call = (await fixture.client.result(id, 'm1.1')).waiting?.calls[0];
  const part = {
    type: 'dynamic-tool',
    toolName: 'book',
    toolCallId: call?.id,
    state: 'approval-responded',
    input: { place: 'here' },
    approval: { id: `${call?.id}.${call?.hash}`, approved: true },
  };
  const decided = { id: 'm1.1', role: 'assistant', parts: [{ type: 'step-start' }, part] };
  return { id, part, decided, asked: user('m1', 'call book') };
}

/** Expects that the turn m1.1 still waits for its decision. */
async function expectUndecided(id: string): Promise<void> {
  const { state, waiting } = await fixture.client.result(id, 'm1.1');
  expect([state, waiting?.calls.map(({ decision }) => decision)]).toEqual(['waiting', [undefined]]);
}

const usersOf = async (id: string): Promise<string[]> =>
  (await fixture.client.log(id)).flatMap(({ message: { role, content } }) => (role === 'user' ? [content] : []));

test('a stop that arrives before its chat message ends the message once it arrives', async () => {
  const id = 'overtaken';
  const stopping = fetch(`${server.url}/v1/chat/${id}/stop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messageId: 'm1' }),
  });
  await looked.promise;
  const gate = Promise.withResolvers<void>();
  gates.set(id, gate);
  await fixture.client.enqueueTurn({ conversation: id, agent: 'guide', turn: 'm1.1', input: `hold ${id}` });
  expect(await (await stopping).json()).toEqual({ turn: 'm1.1', state: 'canceled' });
  gate.resolve();
});

test('a chat message on the route of another agent is refused before a decision beside it is recorded', async () => {
  const { id, asked, decided } = await openWaiting();
  for (const messageId of [undefined, 'm1.1']) {
    const refused = await post({ id, messageId, messages: [asked, decided, user('m2', 'hello')] }, otherServer);
    expect([refused.status, ((await refused.json()) as Refusal).code]).toEqual([409, 'agent_conflict']);
    await expectUndecided(id);
  }
});

test('a chat message for a full mailbox is refused before a decision beside it is recorded', async () => {
  const { id, asked, decided } = await openWaiting();
  const turns = Array.from({ length: 999 }, (_, index) => ({ conversation: id, agent: 'guide', input: `${index}` }));
  await fixture.client.enqueueTurns(turns.slice(0, 500));
  await fixture.client.enqueueTurns(turns.slice(500));
  const refused = await post({ id, messages: [asked, decided, user('m2', 'hello')] });
  expect([refused.status, ((await refused.json()) as Refusal).code]).toEqual([429, 'mailbox_full']);
  await expectUndecided(id);
  await fixture.client.erase(id);
});

test('a chat message that is too large is refused before a decision beside it is recorded, and does not block the next message', async () => {
  const { id, asked, decided } = await openWaiting();
  const large = user('m2', 'x'.repeat(1_100_000));
  const refused = await post({ id, messages: [asked, decided, large] });
  expect(((await refused.json()) as Refusal).code).toBe('message_too_large');
  await expectUndecided(id);
  expect((await post({ id, messages: [asked, decided, large, user('m3', 'hello')] })).status).toBe(200);
  await fixture.client.result(id, 'm3.1', { waitMs: WAIT_MS });
  expect(await usersOf(id)).toEqual(['call book', 'hello']);
});

test('a chat edit that the key may not make is refused before a decision beside it is recorded', async () => {
  const { id, asked, decided } = await openWaiting();
  await fixture.client.enqueueTurn({ conversation: id, agent: 'guide', turn: 'm2.1', input: 'hello' });
  const reader = await serveApp(
    aiSdkApp({
      authenticate: async () => ({ tenant: '_', key: 'page', scopes: ['read', 'enqueue', 'answer'] }),
      clientFor: () => fixture.client,
      agent: 'guide',
    }),
  );
  await fixture.client.enqueueTurn({ conversation: id, agent: 'guide', turn: 'm3.1', input: 'more' });
  const refused = await post({ id, messageId: 'm2', messages: [asked, decided, user('m2', 'edited')] }, reader);
  expect(((await refused.json()) as Refusal).code).toBe('forbidden');
  await expectUndecided(id);
  await reader.close();
});

test.each([undefined, 'm1.1'])(
  'repeating a chat request repairs an outage between its decision and its message (%s)',
  async (messageId) => {
    const { id, asked, decided } = await openWaiting();
    const body = { id, messageId, messages: [asked, decided, user('m2', 'hello')] };
    outages.push(new Error('the message is lost'));
    expect((await post(body)).status).toBe(500);
    await fixture.client.result(id, 'm1.1', { waitMs: WAIT_MS });
    expect((await post(body)).status).toBe(200);
    await fixture.client.result(id, 'm2.1', { waitMs: WAIT_MS });
    expect(await usersOf(id)).toEqual(['call book', 'hello']);
  },
);

test('a chat accepts a decision on a message whose page keeps no steps', async () => {
  const { id, asked, part, decided } = await openWaiting();
  const text = await (await post({ id, messages: [asked, { ...decided, parts: [part] }] })).text();
  const pieces = [...text.matchAll(/"type":"text-delta"[^\n]*"delta":("(?:[^"\\]|\\.)*")/g)];
  expect(pieces.map(([, piece = '']) => JSON.parse(piece) as string).join('')).toBe('So: booked');
  expect(text).not.toContain('One moment.');
});
