import { afterAll, beforeAll, expect, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import type { WhileWaiting } from '../../src/api/http/ai-sdk/while-waiting.ts';
import { ChatError, createDurableTransport } from '../../src/chat/index.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
const servers: Awaited<ReturnType<typeof serveApp>>[] = [];

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await fixture.close();
});

async function openTransport(whileWaiting?: WhileWaiting) {
  const app = aiSdkApp({
    authenticate: 'none',
    clientFor: () => fixture.client,
    agent: 'guide',
    ...(whileWaiting && { whileWaiting }),
  });
  const server = await serveApp(app);
  servers.push(server);
  return createDurableTransport({ api: `${server.url}/v1/chat` });
}

type Transport = Awaited<ReturnType<typeof openTransport>>;

const user = (id: string, text: string) => ({ id, role: 'user' as const, parts: [{ type: 'text', text }] });

async function openWaiting(transport: Transport, chatId: string): Promise<string> {
  await transport.acceptMessage({ chatId, message: user('m1', 'call book') });
  await expect.poll(() => fixture.client.result(chatId, 'm1.1')).toMatchObject({ state: 'waiting' });
  const { turns } = await transport.loadMessages({ chatId });
  return turns[0]?.waiting?.calls[0]?.approvalId ?? '';
}

const usersOf = async (id: string): Promise<string[]> =>
  (await fixture.client.log(id)).flatMap(({ message: { role, content } }) => (role === 'user' ? [content] : []));

test('a message that is sent while an approval is pending is refused with the waiting calls, and the approval gets through', async () => {
  const transport = await openTransport();
  const approval = await openWaiting(transport, 'refused');
  const sent = transport.acceptMessage({ chatId: 'refused', message: user('m2', 'hello') });
  const refusal = await sent.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(ChatError);
  expect(refusal).toMatchObject({ status: 409, code: 'waiting', details: { turn: 'm1.1', for: 'approval' } });
  expect(await usersOf('refused')).toEqual(['call book']);
  const answers = { [approval]: { approved: true, by: 'ann' } };
  expect(await transport.answerCalls({ chatId: 'refused', answers })).toMatchObject({ status: 'answered' });
  await fixture.client.result('refused', 'm1.1', { waitMs: 60_000 });
  expect(await transport.answerCalls({ chatId: 'refused', answers }), 'again').toMatchObject({ status: 'answered' });
  await transport.acceptMessage({ chatId: 'refused', message: user('m2', 'hello') });
  await fixture.client.result('refused', 'm2.1', { waitMs: 60_000 });
  const { messages } = await transport.loadMessages({ chatId: 'refused' });
  expect(messages.map(({ id }) => id)).toEqual(['m1', 'm1.1', 'm2', 'm2.1']);
  const decided = messages[1]?.parts.find(({ type }) => type === 'data-approval');
  expect(decided).toMatchObject({ data: { decision: { approved: true, by: 'ann', at: expect.any(Number) } } });
});

test('with `deny`, a message denies the pending approval and is the next turn', async () => {
  const transport = await openTransport('deny');
  await openWaiting(transport, 'denied');
  await transport.acceptMessage({ chatId: 'denied', message: user('m2', 'hello') });
  await fixture.client.result('denied', 'm2.1', { waitMs: 60_000 });
  const { messages } = await transport.loadMessages({ chatId: 'denied' });
  expect(messages[1]?.parts).toContainEqual(expect.objectContaining({ state: 'output-denied', toolName: 'book' }));
  expect(await usersOf('denied')).toEqual(['call book', 'hello']);
});

test('with `steer`, a message joins the waiting turn once the approval is given', async () => {
  const transport = await openTransport('steer');
  const approval = await openWaiting(transport, 'steered');
  const message = user('m2', 'make it short');
  expect(await transport.acceptMessage({ chatId: 'steered', message })).toMatchObject({ turn: 'm2.1' });
  expect(await transport.acceptMessage({ chatId: 'steered', message, onBusy: 'steer' })).toMatchObject({
    turn: 'm2.1',
  });
  await transport.answerCalls({ chatId: 'steered', answers: { [approval]: { approved: true } } });
  await fixture.client.result('steered', 'm1.1', { waitMs: 60_000 });
  expect(await fixture.client.result('steered', 'm2.1')).toMatchObject({ steeredInto: 'm1.1' });
  const { messages } = await transport.loadMessages({ chatId: 'steered' });
  expect(messages.map(({ id }) => id)).toEqual(['m1', 'm1.1']);
  expect(messages[1]?.parts).toContainEqual(
    expect.objectContaining({ type: 'data-steering', data: { turn: 'm2.1', content: 'make it short' } }),
  );
});

test('the history of a chat comes in pages, each of which begins with a question', async () => {
  const transport = await openTransport();
  for (let turn = 1; turn <= 5; turn += 1) {
    await transport.acceptMessage({ chatId: 'pages', message: user(`m${turn}`, `call look`) });
    await fixture.client.result('pages', `m${turn}.1`, { waitMs: 60_000 });
  }
  const pages: string[][] = [];
  for (let before: string | undefined, isFirst = true; isFirst || before !== undefined; isFirst = false) {
    const page = await transport.loadMessages({ chatId: 'pages', before, limit: 3 });
    pages.push(page.messages.map(({ id }) => id));
    before = page.before;
  }
  expect(pages).toEqual([
    ['m4', 'm4.1', 'm5', 'm5.1'],
    ['m2', 'm2.1', 'm3', 'm3.1'],
    ['m1', 'm1.1'],
  ]);
});

test('a page follows turns that begin and end elsewhere', async () => {
  const transport = await openTransport();
  const left = new AbortController();
  const gate = Promise.withResolvers<void>();
  gates.set('live', gate);
  const seen: string[] = [];
  const { after } = await transport.loadMessages({ chatId: 'live' });
  const following = (async () => {
    for await (const news of transport.follow({ chatId: 'live', after, signal: left.signal })) {
      if (news.type === 'turns') seen.push(news.turns.map(({ turn, position }) => `${turn} ${position}`).join(', '));
      if (news.type === 'event') seen.push(news.event.type);
    }
  })();
  await fixture.client.enqueueTurn({ conversation: 'live', agent: 'guide', turn: 'm1.1', input: 'hold live' });
  await fixture.client.enqueueTurn({ conversation: 'live', agent: 'guide', turn: 't2', input: 'hello' });
  await expect.poll(() => seen).toContain('m1.1 0, t2 1');
  gate.resolve();
  await fixture.client.result('live', 't2', { waitMs: 60_000 });
  await expect.poll(() => seen.filter((news) => news === 'turn_settled')).toHaveLength(2);
  await expect.poll(() => seen).toContain('');
  left.abort();
  await expect(following).rejects.toThrow('aborted');
});
