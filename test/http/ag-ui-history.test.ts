import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from './ag-ui-agent.ts';
import { openThreads, textOf, user } from './ag-ui-thread.ts';
import { withOutages } from './outage-client.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let threads: ReturnType<typeof openThreads>;
/** Errors that the next accepted messages meet, as in an outage. */
const outages: Error[] = [];
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSharingAgent()]);
  const client = withOutages(fixture, outages);
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => client, agent: 'sharer' }));
  threads = openThreads(server.url);
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

function newThread(): string {
  count += 1;
  return `history-${count}`;
}

const assistant = (id: string, content: string) => ({ id, role: 'assistant', content });
const GREETING = assistant('greeting', 'Welcome.');

async function readContext(threadId: string): Promise<string[]> {
  const { items } = await fixture.client.context(threadId);
  return items.map(({ message: { role, content } }) => `${role}: ${content}`);
}

test('an AG-UI thread begins with the messages that its first run brings', async () => {
  const threadId = newThread();
  const called = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } };
  const earlier = [
    GREETING,
    user('m1', 'look'),
    { ...assistant('a1', 'I look.'), toolCalls: [called] },
    { id: 't1', role: 'tool', toolCallId: 'c', content: 'the sea' },
    assistant('a2', 'I see the sea.'),
  ];
  const body = { threadId, runId: 'r1', messages: [...earlier, user('m2', 'history')] };
  const events = await threads.run(body);
  const said = 'assistant: Welcome. | user: look | assistant: I look. | tool: the sea | assistant: I see the sea.';
  expect(textOf(events)).toBe(said);
  await threads.run(body);
  expect((await readContext(threadId)).filter((line) => line === 'user: look').length).toBe(1);
});

test('an AG-UI thread is seeded once although its first run is repeated after an outage', async () => {
  const threadId = newThread();
  const body = { threadId, runId: 'r1', messages: [GREETING, user('m1', 'history')] };
  outages.push(new Error('the message is lost'));
  expect((await threads.run(body)).at(-1)).toMatchObject({ type: 'RUN_ERROR' });
  expect(textOf(await threads.run(body))).toBe('assistant: Welcome.');
});

test('an erased AG-UI thread is not seeded by the messages of a page that still shows it', async () => {
  const threadId = newThread();
  await threads.run({ threadId, runId: 'r1', messages: [user('m1', 'hello')] });
  await fixture.client.erase(threadId);
  const messages = [user('m1', 'hello'), assistant('r1/1', 'heard hello'), user('m2', 'history')];
  const refused = await threads.run({ threadId, runId: 'r2', messages });
  expect(refused.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'gone' });
  await expect(fixture.client.describe(threadId)).rejects.toMatchObject({ code: 'not_found' });
});

/** A thread with the turns r1 and r2. */
async function openTwoTurns(): Promise<{ readonly threadId: string; readonly first: readonly object[] }> {
  const threadId = newThread();
  const first = [user('m1', 'one'), assistant('r1/1', 'heard one')];
  await threads.run({ threadId, runId: 'r1', messages: [user('m1', 'one')] });
  await threads.run({ threadId, runId: 'r2', messages: [...first, user('m2', 'two')] });
  return { threadId, first };
}

const EDITS = {
  'a property of the run': { turnfold: { replaces: 'm2' } },
  'the runConfig of assistant-ui': { runConfig: { turnfold: { replaces: 'm2' } } },
  'the id that the page got from the server': { turnfold: { replaces: 'r2/input.3' } },
};

test.each(Object.entries(EDITS))(
  'an edited message of an AG-UI thread replaces the message that %s names, and its answer',
  async (_, forwardedProps) => {
    const { threadId, first } = await openTwoTurns();
    const body = { threadId, runId: 'r3', messages: [...first, user('m9', 'three')], forwardedProps };
    expect(textOf(await threads.run(body))).toBe('heard three');
    const edited = ['user: one', 'assistant: heard one', 'user: three', 'assistant: heard three'];
    expect(await readContext(threadId)).toEqual(edited);
    await threads.run(body);
    expect(await readContext(threadId)).toEqual(edited);
  },
);

test.each(Object.entries(EDITS))(
  'an edit of an AG-UI message by %s is repeated after an outage, and the new message is stored once',
  async (_, forwardedProps) => {
    const { threadId, first } = await openTwoTurns();
    const body = { threadId, runId: 'r3', messages: [...first, user('m9', 'three')], forwardedProps };
    outages.push(new Error('the message is lost'));
    expect((await threads.run(body)).at(-1)).toMatchObject({ type: 'RUN_ERROR' });
    expect(await readContext(threadId)).toEqual(['user: one', 'assistant: heard one']);
    expect(textOf(await threads.run(body))).toBe('heard three');
    const edited = ['user: one', 'assistant: heard one', 'user: three', 'assistant: heard three'];
    expect(await readContext(threadId)).toEqual(edited);
  },
);

test('an edit of an AG-UI message that waits is repeated after an outage, by the id that names its turn', async () => {
  const threadId = newThread();
  const gate = Promise.withResolvers<void>();
  gates.set(threadId, gate);
  const held = threads.run({ threadId, runId: 'r1', messages: [user('m1', `hold ${threadId}`)] });
  const isRunning = async () => (await fixture.client.result(threadId, 'r1').catch(() => undefined))?.state;
  await expect.poll(isRunning).toBe('running');
  await fixture.client.enqueueTurn({ conversation: threadId, agent: 'sharer', turn: 'r2', input: 'two' });
  const forwardedProps = { turnfold: { replaces: 'r2/input' } };
  const messages = [user('m1', `hold ${threadId}`), user('m9', 'three')];
  const body = { threadId, runId: 'r3', messages, forwardedProps };
  outages.push(new Error('the message is lost'));
  expect((await threads.run(body)).at(-1)).toMatchObject({ type: 'RUN_ERROR' });
  expect((await fixture.client.result(threadId, 'r2')).state).toBe('canceled');
  const edited = threads.run(body);
  gate.resolve();
  await held;
  expect(textOf(await edited)).toBe('heard three');
});

/** A thread whose first messages another system made. */
async function importThread(): Promise<{ readonly threadId: string; readonly imported: readonly string[] }> {
  const threadId = newThread();
  const messages = [
    { role: 'user', content: 'from before' },
    { role: 'assistant', content: 'so it was' },
  ] as const;
  await fixture.client.append({ conversation: threadId, agent: 'sharer', messages });
  return { threadId, imported: messages.map(({ role, content }) => `${role}: ${content}`) };
}

const IMPORTED_PAGES = {
  'only the new message': [],
  'the messages that it got from the server': [user('log-1', 'from before'), assistant('log-2', 'so it was')],
};

test.each(Object.entries(IMPORTED_PAGES))(
  'an AG-UI page with %s sends a message to an imported conversation, and regenerates its answer',
  async (_, shown) => {
    const { threadId, imported } = await importThread();
    const said = [...imported, 'user: hello', 'assistant: heard hello'];
    const messages = [...shown, user('m1', 'hello')];
    expect(textOf(await threads.run({ threadId, runId: 'r1', messages }))).toBe('heard hello');
    expect(await readContext(threadId)).toEqual(said);
    expect(textOf(await threads.run({ threadId, runId: 'r2', messages }))).toBe('heard hello');
    expect(await readContext(threadId)).toEqual(said);
  },
);

test('an AG-UI run replaces no imported message, whatever it names', async () => {
  const { threadId, imported } = await importThread();
  for (const replaces of ['log-1', 'm9']) {
    const messages = [user('log-1', 'from before'), assistant('log-2', 'so it was'), user('m1', 'hello')];
    const body = { threadId, runId: `r-${replaces}`, messages, forwardedProps: { turnfold: { replaces } } };
    expect((await threads.run(body)).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'invalid_input' });
  }
  expect(await readContext(threadId)).toEqual(imported);
});

test('an AG-UI run that replaces an unknown message is refused, and changes nothing', async () => {
  const { threadId, first } = await openTwoTurns();
  const messages = [...first, user('m9', 'three')];
  const before = await readContext(threadId);
  const replacing = { threadId, runId: 'r3', messages, forwardedProps: { turnfold: { replaces: 'm7' } } };
  const refused = await threads.run(replacing);
  expect(refused.at(-1)).toMatchObject({
    type: 'RUN_ERROR',
    code: 'invalid_input',
    message: expect.stringContaining('forwardedProps.turnfold.replaces'),
  });
  expect((await threads.start({ ...replacing, forwardedProps: { turnfold: { replace: 'm2' } } })).status).toBe(422);
  expect(await readContext(threadId)).toEqual(before);
});

test('a message of an AG-UI page that lacks a later turn replaces nothing, and the page gets that turn', async () => {
  const { threadId, first } = await openTwoTurns();
  const events = await threads.run({ threadId, runId: 'r3', messages: [...first, user('m9', 'three')] });
  expect(textOf(events)).toBe('heard three');
  const { messages } = events.find(({ type }) => type === 'MESSAGES_SNAPSHOT') as unknown as { messages: object[] };
  expect(messages).toMatchObject([
    ...first,
    { role: 'user', content: 'two' },
    { role: 'assistant', content: 'heard two' },
    { id: 'm9', role: 'user', content: 'three' },
  ]);
  expect(await readContext(threadId)).toEqual([
    'user: one',
    'assistant: heard one',
    'user: two',
    'assistant: heard two',
    'user: three',
    'assistant: heard three',
  ]);
});

test('an AG-UI page that has all turns gets no messages that it already has', async () => {
  const { threadId, first } = await openTwoTurns();
  const second = [user('m2', 'two'), assistant('r2/1', 'heard two')];
  const events = await threads.run({ threadId, runId: 'r3', messages: [...first, ...second, user('m3', 'three')] });
  expect(events.map(({ type }) => type)).not.toContain('MESSAGES_SNAPSHOT');
});

test('a regenerated answer of an AG-UI thread replaces the old answer', async () => {
  const { threadId, first } = await openTwoTurns();
  await threads.run({ threadId, runId: 'r3', messages: [...first, user('m2', 'two')] });
  expect(await readContext(threadId)).toEqual([
    'user: one',
    'assistant: heard one',
    'user: two',
    'assistant: heard two',
  ]);
});

test('a regenerated first answer of an AG-UI thread replaces all that follows it', async () => {
  const { threadId } = await openTwoTurns();
  await threads.run({ threadId, runId: 'r3', messages: [user('m1', 'one')] });
  expect(await readContext(threadId)).toEqual(['user: one', 'assistant: heard one']);
});

test('the same text under a new message id is a new message of an AG-UI thread', async () => {
  const { threadId } = await openTwoTurns();
  await threads.run({ threadId, runId: 'r3', messages: [user('m9', 'one')] });
  expect((await readContext(threadId)).length).toBe(6);
});

test('an AG-UI run replaces no turn that another caller began', async () => {
  const { threadId, first } = await openTwoTurns();
  await fixture.client.enqueueTurn({ conversation: threadId, agent: 'sharer', turn: 'other', input: 'from elsewhere' });
  await fixture.client.result(threadId, 'other', { waitMs: 60_000 });
  await threads.run({ threadId, runId: 'r3', messages: [...first, user('m9', 'three')] });
  expect((await readContext(threadId)).length).toBe(8);
});

test('an edited AG-UI message that is too large changes nothing', async () => {
  const { threadId, first } = await openTwoTurns();
  const before = await readContext(threadId);
  const messages = [...first, user('m9', 'x'.repeat(1_100_000))];
  const forwardedProps = { turnfold: { replaces: 'm2' } };
  const refused = await threads.run({ threadId, runId: 'r3', messages, forwardedProps });
  expect(refused.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'message_too_large' });
  expect(await readContext(threadId)).toEqual(before);
});
