import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { callsOf, openThreads, textOf, user } from './ag-ui-thread.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { withOutages } from './outage-client.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let threads: ReturnType<typeof openThreads>;
/** Errors that the next accepted messages meet, as in an outage. */
const outages: Error[] = [];
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const client = withOutages(fixture, outages);
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => client, agent: 'guide' }));
  threads = openThreads(server.url);
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

function newThread(): string {
  count += 1;
  return `repeated-${count}`;
}

const usersOf = async (threadId: string): Promise<string[]> =>
  (await fixture.client.log(threadId)).flatMap(({ message: { role, content } }) => (role === 'user' ? [content] : []));

/** Runs until a run waits for the result of a call of the front-end. */
async function askForResult(threadId: string): Promise<string> {
  const events = await threads.run({ threadId, runId: 'r1', messages: [user('m1', 'call locate')] });
  const { outcome } = events.at(-1) as unknown as { outcome: { pendingToolCallIds: [string] } };
  return outcome.pendingToolCallIds[0];
}

test.each(['before', 'behind'])(
  'an AG-UI run with a tool result and a message %s it gets the same answers when it is repeated',
  async (place) => {
    const threadId = newThread();
    const id = await askForResult(threadId);
    const result = { id: 'tool-1', role: 'tool', toolCallId: id, content: 'at home' };
    const added =
      place === 'before' ? [user('m2', 'where is the sea'), result] : [result, user('m2', 'where is the sea')];
    const body = { threadId, runId: 'r2', messages: [user('m1', 'call locate'), callsOf('locate', [id]), ...added] };
    const first = await threads.run(body);
    expect(first.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
    expect(textOf(first)).toContain('heard where is the sea');
    const log = await usersOf(threadId);
    const again = await threads.run(body);
    expect(again.map(({ type }) => type)).toEqual(first.map(({ type }) => type));
    expect(textOf(again)).toBe(textOf(first));
    expect(await usersOf(threadId)).toEqual(log);
  },
);

test('a repeated AG-UI run is recognized although the turn of an earlier message has ended since', async () => {
  const threadId = newThread();
  const gate = Promise.withResolvers<void>();
  gates.set('ag-ui-repeat', gate);
  const first = threads.run({ threadId, runId: 'r1', messages: [user('m1', 'hold ag-ui-repeat')] });
  await expect
    .poll(async () => (await fixture.client.result(threadId, 'r1').catch(() => undefined))?.state)
    .toBe('running');
  const body = { threadId, runId: 'r2', messages: [user('m1', 'hold ag-ui-repeat'), user('m2', 'hello')] };
  const second = threads.run(body);
  await expect
    .poll(async () => (await fixture.client.result(threadId, 'r2').catch(() => undefined))?.state)
    .toBe('queued');
  gate.resolve();
  await Promise.all([first, second]);
  expect(textOf(await threads.run(body))).toContain('heard hello');
  expect(await usersOf(threadId)).toEqual(['hold ag-ui-repeat', 'hello']);
});

test('an AG-UI run under the id of another run is refused, so that its message is not lost', async () => {
  const threadId = newThread();
  await threads.run({ threadId, runId: 'r1', messages: [user('m1', 'hello')] });
  const refused = await threads.run({ threadId, runId: 'r1', messages: [user('m1', 'goodbye')] });
  expect(refused.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'turn_conflict' });
});

test('an AG-UI run does not repeat the previous message if its own message was sent before the previous answer began', async () => {
  const threadId = newThread();
  await fixture.client.enqueueTurn({ conversation: threadId, agent: 'guide', turn: 'r1', input: 'one' });
  await fixture.client.result(threadId, 'r1', { waitMs: WAIT_MS });
  // The page has sent "one", and has no part of its answer.
  await threads.run({ threadId, runId: 'r2', messages: [user('m1', 'one'), user('m2', 'two')] });
  expect(await usersOf(threadId)).toEqual(['one', 'two']);
  // The page has an earlier answer, and none of the next one.
  const messages = [user('m1', 'one'), { id: 'r1/1', role: 'assistant', content: 'heard one' }];
  await threads.run({ threadId, runId: 'r3', messages: [...messages, user('m2', 'two'), user('m3', 'three')] });
  expect(await usersOf(threadId)).toEqual(['one', 'two', 'three']);
});

test('an AG-UI run does not repeat texts that the previous run brought as paragraphs of one message', async () => {
  const threadId = newThread();
  await threads.run({ threadId, runId: 'r0', messages: [user('m0', 'hello')] });
  const shown = [user('m0', 'hello'), { id: 'r0/1', role: 'assistant', content: 'heard' }];
  const messages = [...shown, user('m1', 'one'), user('m2', 'two')];
  await threads.run({ threadId, runId: 'r1', messages });
  await threads.run({ threadId, runId: 'r2', messages: [...messages, user('m3', 'three'), user('m4', 'one')] });
  expect(await usersOf(threadId)).toEqual(['hello', 'one\n\ntwo', 'three\n\none']);
});

test('repeating an AG-UI run repairs an outage between its decision and its message', async () => {
  const threadId = newThread();
  const [first] = await threads.interrupt(threadId, 'call book');
  const messages = [user('m1', 'call book'), callsOf('book', [first?.toolCallId ?? '']), user('m2', 'hello')];
  const resume = [{ interruptId: first?.id, status: 'resolved', payload: { approved: true } }];
  const body = { threadId, runId: 'r2', messages, resume };
  outages.push(new Error('the message is lost'));
  expect((await threads.run(body)).at(-1)).toMatchObject({ type: 'RUN_ERROR' });
  await expect.poll(async () => (await fixture.client.result(threadId, 'r1')).state).toBe('completed');
  expect(textOf(await threads.run(body))).toContain('heard hello');
  expect(await usersOf(threadId)).toEqual(['call book', 'hello']);
});

test('a repeated AG-UI resume streams on to the next interrupt of its turn', async () => {
  const threadId = newThread();
  const interrupts = await threads.interrupt(threadId, 'twice book');
  const resume = [{ interruptId: interrupts[0]?.id, status: 'resolved', payload: { approved: true } }];
  const body = { threadId, runId: 'r2', messages: [user('m1', 'twice book')], resume };
  const once = await threads.run(body);
  expect(once.at(-1)).toMatchObject({ outcome: { type: 'interrupt' } });
  expect((await threads.run(body)).at(-1)).toEqual(once.at(-1));
});

test('an AG-UI run whose turn waits behind open calls is recognized when it is repeated', async () => {
  const threadId = newThread();
  await fixture.client.enqueueTurn({ conversation: threadId, agent: 'guide', turn: 'r1', input: 'call book' });
  const input = 'hello';
  await fixture.client.enqueueTurn({ conversation: threadId, agent: 'guide', turn: 'r2', input });
  await expect.poll(async () => (await fixture.client.result(threadId, 'r1')).state).toBe('waiting');
  const again = threads.run({ threadId, runId: 'r2', messages: [user('m1', 'call book'), user('m2', input)] });
  const { waiting } = await fixture.client.result(threadId, 'r1');
  await fixture.client.answer(threadId, 'r1', { [waiting?.calls[0]?.id ?? '']: { approved: true } });
  expect(textOf(await again)).toContain('heard hello');
});

test('a message that an AG-UI run refused does not block the next message', async () => {
  const threadId = newThread();
  const large = user('m1', 'x'.repeat(1_100_000));
  const picture = { id: 'm2', role: 'user', content: [{ type: 'binary', url: 'data:,x', mimeType: 'image/png' }] };
  expect((await threads.run({ threadId, runId: 'r1', messages: [large] })).at(-1)).toMatchObject({
    code: 'message_too_large',
  });
  await threads.run({ threadId, runId: 'r2', messages: [large, picture, user('m3', 'hello')] });
  expect(await usersOf(threadId)).toEqual(['hello']);
});
