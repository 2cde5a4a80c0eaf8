import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { ROLES, startWorkers } from '../../src/host/start-workers.ts';
import { type Fixture, openFixture, SHARDS } from '../client/fixture.ts';
import { callsOf, openThreads, user } from './ag-ui-thread.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { withReadNotice } from './outage-client.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let threads: ReturnType<typeof openThreads>;
let workers: Awaited<ReturnType<typeof startWorkers>> | undefined;
/** Resolves once the server has looked for the run of a stop, and not found it. */
const looked = Promise.withResolvers<void>();
/** The message of the thread `aborted` is accepted between these two. */
const accepting = Promise.withResolvers<void>();
const release = Promise.withResolvers<void>();
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await work();
  const enqueueTurn: Fixture['client']['enqueueTurn'] = async (input) => {
    if (input.conversation === 'aborted') {
      accepting.resolve();
      await release.promise;
    }
    return await fixture.client.enqueueTurn(input);
  };
  const client = { ...withReadNotice(fixture.client, looked.resolve), enqueueTurn };
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => client, agent: 'guide' }));
  threads = openThreads(server.url);
});
afterAll(async () => {
  for (const gate of gates.values()) gate.resolve();
  await rest();
  await server.close();
  await fixture.close();
});

async function work(): Promise<void> {
  workers = await startWorkers({
    redisUrl: fixture.url,
    agents: [createFrontEndAgent()],
    roles: ROLES,
    shards: SHARDS,
  });
}

async function rest(): Promise<void> {
  await workers?.close();
  workers = undefined;
}

/** A thread whose run r1 waits for the approval of a call. */
async function openInterrupted() {
  count += 1;
  const threadId = `stopped-${count}`;
  const [first] = await threads.interrupt(threadId, 'call book');
  const messages = [user('m1', 'call book'), callsOf('book', [first?.toolCallId ?? ''])];
  const resume = [{ interruptId: first?.id, status: 'resolved', payload: { approved: true } }];
  return { threadId, runId: 'r2', messages, resume };
}

async function stateOf(threadId: string, turn: string): Promise<string | undefined> {
  return (await fixture.client.result(threadId, turn).catch(() => undefined))?.state;
}

/** Names of a run that resumed r1 with a message. */
const NAMES = {
  'the run that resumed': { runId: 'r2' },
  'the run that began': { runId: 'r1' },
  'a message': { messageId: 'r1/2' },
};

test('a stop that arrives before its AG-UI run ends the run once the run arrives', async () => {
  await rest();
  const stopping = threads.stop({ threadId: 'overtaken', runId: 'r1' });
  await looked.promise;
  const events = await threads.run({ threadId: 'overtaken', runId: 'r1', messages: [user('m1', 'hello')] });
  expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
  await stopping;
  await work();
});

test('a stop that has given up on its AG-UI run still ends this run, and no other one', async () => {
  await rest();
  const stopped = await threads.stop({ threadId: 'given-up', runId: 'r1' });
  expect({ status: stopped.status, problem: await stopped.json() }).toMatchObject({
    status: 404,
    problem: { code: 'not_found', field: 'runId' },
  });
  const messages = [user('m1', 'hello')];
  const events = await threads.run({ threadId: 'given-up', runId: 'r1', messages });
  expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
  await work();
  const next = await threads.run({ threadId: 'given-up', runId: 'r2', messages: [user('m2', 'hello')] });
  expect(next.at(-1)).toMatchObject({ outcome: { type: 'success' } });
});

test('a client that aborts an AG-UI run before it is accepted stops the run', async () => {
  await rest();
  const left = new AbortController();
  const aborted = threads.start({ threadId: 'aborted', runId: 'r1', messages: [user('m1', 'hello')] }, left.signal);
  await accepting.promise;
  left.abort();
  await expect(aborted).rejects.toThrow('aborted');
  release.resolve();
  await expect.poll(() => stateOf('aborted', 'r1')).toBe('canceled');
  await work();
});

test.each(Object.keys(NAMES))(
  'a stop by %s ends the resumed AG-UI turn and the message that was steered into it',
  async (name) => {
    const { messages, ...body } = await openInterrupted();
    const { threadId } = body;
    gates.set(threadId, Promise.withResolvers());
    const events = threads.run({ ...body, messages: [...messages, user('m2', `hold ${threadId}`)] });
    await expect
      .poll(async () => (await fixture.client.result(threadId, 'r2').catch(() => undefined))?.steeredInto)
      .toBe('r1');
    const answer = await threads.stop({ threadId, ...NAMES[name as keyof typeof NAMES] });
    expect(await answer.json()).toEqual({ turn: name === 'the run that resumed' ? 'r2' : 'r1', state: 'canceled' });
    expect((await events).at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
    expect([await stateOf(threadId, 'r1'), await stateOf(threadId, 'r2')]).toEqual(['canceled', 'canceled']);
  },
);

test.each(Object.keys(NAMES))(
  'a stop by %s ends the resumed AG-UI turn and its message before a worker has taken the message',
  async (name) => {
    const { messages, ...body } = await openInterrupted();
    const { threadId } = body;
    await rest();
    const events = threads.run({ ...body, messages: [...messages, user('m2', 'hello')] });
    await expect.poll(() => stateOf(threadId, 'r2')).toBe('queued');
    expect(await (await threads.stop({ threadId, ...NAMES[name as keyof typeof NAMES] })).json()).toMatchObject({
      state: 'canceled',
    });
    expect((await events).at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
    expect([await stateOf(threadId, 'r1'), await stateOf(threadId, 'r2')]).toEqual(['canceled', 'canceled']);
    await work();
  },
);

test('a stop can name an AG-UI run that resumed without a message, even after that run has ended', async () => {
  const { threadId, ...body } = await openInterrupted();
  await rest();
  const events = threads.run({ threadId, ...body });
  await expect.poll(async () => (await fixture.client.result(threadId, 'r1')).requests).toEqual(['r2']);
  expect(await (await threads.stop({ threadId, runId: 'r2' })).json()).toEqual({ turn: 'r1', state: 'canceled' });
  expect((await events).at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
  await work();
  const next = threads.run({ threadId, runId: 'r3', messages: [user('m3', 'hello')] });
  expect(await (await threads.stop({ threadId, runId: 'r2' })).json()).toEqual({ turn: 'r1', state: 'canceled' });
  expect((await next).at(-1)).toMatchObject({ outcome: { type: 'success' } });
});
