import { HttpAgent } from '@ag-ui/client59';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from './ag-ui-agent.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSharingAgent()]);
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'sharer' }));
});
afterAll(async () => {
  for (const gate of gates.values()) gate.resolve();
  await server.close();
  await fixture.close();
});

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function openThread(content: string | object[]): HttpAgent {
  count += 1;
  const message = { id: `m${count}`, role: 'user', content } as Parameters<HttpAgent['addMessage']>[0];
  return new HttpAgent({ url: `${server.url}/v1/ag-ui`, threadId: `connected-${count}`, initialMessages: [message] });
}

/** A front-end that was loaded again: it has no messages, and connects to the thread. */
function connect(threadId: string): { readonly agent: HttpAgent; readonly ended: Promise<unknown> } {
  const agent = new HttpAgent({ url: `${server.url}/v1/ag-ui/connect`, threadId });
  return { agent, ended: agent.runAgent() };
}

const linesOf = ({ messages }: HttpAgent): string[] =>
  messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : ''}`);

test('a second client that connects to an AG-UI thread gets all messages that the first client has', async () => {
  const first = openThread('call read_state');
  await first.runAgent();
  first.addMessage({ id: 'next', role: 'user', content: 'hello' });
  await first.runAgent();
  const { agent, ended } = connect(first.threadId);
  await ended;
  expect(linesOf(agent)).toEqual(linesOf(first));
  agent.addMessage({ id: 'third', role: 'user', content: 'again' });
  const next = new HttpAgent({ url: first.url, threadId: first.threadId, initialMessages: agent.messages });
  await next.runAgent();
  expect(linesOf(next).slice(-2)).toEqual(['user: again', 'assistant: heard again']);
  expect((await fixture.client.log(first.threadId)).filter(({ message }) => message.role === 'user').length).toBe(3);
});

test('a front-end that connects to an AG-UI thread follows the turn that runs', async () => {
  const gate = Promise.withResolvers<void>();
  gates.set('connect', gate);
  const first = openThread('hold connect');
  const running = first.runAgent();
  await expect.poll(() => linesOf(first).at(-1)).toBe('assistant: One ');
  const { agent, ended } = connect(first.threadId);
  await expect.poll(() => linesOf(agent)).toEqual(['user: hold connect', 'assistant: One ']);
  gate.resolve();
  await Promise.all([running, ended]);
  expect(linesOf(agent)).toEqual(['user: hold connect', 'assistant: One two.']);
});

test('a front-end that connects to an AG-UI thread sees its interrupt and its state', async () => {
  const first = openThread('call count');
  await first.runAgent();
  first.addMessage({ id: 'next', role: 'user', content: 'call book' });
  await first.runAgent();
  const { agent, ended } = connect(first.threadId);
  await ended;
  expect(agent.state).toEqual({ count: 1 });
  expect(agent.pendingInterrupts.map(({ id }) => id)).toEqual(first.pendingInterrupts.map(({ id }) => id));
});

test('a front-end that connects to an AG-UI thread has the images and files of its messages', async () => {
  const image = { type: 'image', source: { type: 'data', value: PIXEL, mimeType: 'image/png' } };
  const paper = {
    type: 'document',
    source: { type: 'data', value: 'aGVsbG8=', mimeType: 'text/plain' },
    metadata: { filename: 'note.txt' },
  };
  const first = openThread([{ type: 'text', text: 'files' }, image, paper]);
  await first.runAgent();
  const { agent, ended } = connect(first.threadId);
  await ended;
  expect(agent.messages.map(({ content }) => content)).toEqual(first.messages.map(({ content }) => content));
});

test('a front-end that connects to an unknown AG-UI thread gets no messages', async () => {
  const { agent, ended } = connect('never-seen');
  await ended;
  expect(agent.messages).toEqual([]);
});

test('an answer is regenerated in an AG-UI thread after a front-end has connected to it', async () => {
  const first = openThread('one');
  await first.runAgent();
  const { agent, ended } = connect(first.threadId);
  await ended;
  const next = new HttpAgent({ url: first.url, threadId: first.threadId, initialMessages: agent.messages.slice(0, 1) });
  await next.runAgent();
  const { items } = await fixture.client.context(first.threadId);
  expect(items.map(({ message }) => message.content)).toEqual(['one', 'heard one']);
});
