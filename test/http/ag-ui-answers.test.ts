import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' }));
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

function newThread(): string {
  count += 1;
  return `thread-${count}`;
}

type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

async function post(body: object): Promise<Response> {
  return await fetch(`${server.url}/v1/ag-ui`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      protocolVersion: '1.0',
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
      messages: [],
      ...body,
    }),
  });
}

/** Runs to the end, and returns the events. */
async function run(body: object): Promise<AgUiEvent[]> {
  const text = await (await post(body)).text();
  const frames = text.split('\n\n').filter((frame) => frame.startsWith('data: '));
  return frames.map((frame) => JSON.parse(frame.slice(6)) as AgUiEvent);
}

const user = (id: string, content: string) => ({ id, role: 'user', content });

interface Interrupt {
  readonly id: string;
  readonly toolCallId: string;
}

/** Runs until the run is interrupted. */
async function interrupt(threadId: string, input: string): Promise<Interrupt[]> {
  const last = (await run({ threadId, runId: 'r1', messages: [user('m1', input)] })).at(-1);
  const { outcome } = last as unknown as { outcome: { interrupts: Interrupt[] } };
  return outcome.interrupts;
}

/** The assistant message that a front-end has after an interrupted run. */
function callsOf(interrupts: readonly Interrupt[], name: string, more: readonly object[] = []) {
  const made = interrupts.map(({ toolCallId: id }) => callOf(id, name));
  return { id: 'r1/1', role: 'assistant', content: 'One moment.', toolCalls: [...made, ...more] };
}

function callOf(id: string, name: string) {
  return { id, type: 'function', function: { name, arguments: '{"place":"here"}' } };
}

const textOf = (events: readonly AgUiEvent[]): string =>
  events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('');

async function readLog(threadId: string): Promise<string[]> {
  const log = await fixture.client.log(threadId);
  return log.map(({ message: { role, content } }) => `${role}: ${content}`);
}

const DECISIONS = [
  ['cancelled', { status: 'cancelled' }],
  ['denied', { status: 'resolved', payload: { approved: false, reason: 'too dear' } }],
  ['approved', { status: 'resolved', payload: { approved: true } }],
] as const;

test.each(DECISIONS)(
  'an AG-UI run answers a new message that comes together with an interrupt that is %s',
  async (_, decision) => {
    const threadId = newThread();
    const interrupts = await interrupt(threadId, 'call book');
    const [first] = interrupts;
    const messages = [user('m1', 'call book'), callsOf(interrupts, 'book'), user('m2', 'where is the sea')];
    const body = { threadId, runId: 'r2', messages, resume: [{ interruptId: first?.id, ...decision }] };
    const events = await run(body);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
    expect(textOf(events)).toContain('heard where is the sea');
    const result = await fixture.client.result(threadId, 'r2', { waitMs: WAIT_MS });
    expect(result).toMatchObject({ state: 'completed', answer: { content: expect.stringContaining('the sea') } });
    const log = await readLog(threadId);
    expect(log.filter((line) => line === 'user: where is the sea').length).toBe(1);
    expect(log.at(-1)).toContain('heard where is the sea');
    // The same request again has no second effect, and gets the answer, too.
    const again = await run(body);
    expect(textOf(again)).toContain('heard where is the sea');
    expect(await readLog(threadId)).toEqual(log);
  },
);

test('the model receives the reason that an AG-UI front-end sends with a denial', async () => {
  const threadId = newThread();
  const [first] = await interrupt(threadId, 'call book');
  const payload = { approved: false, reason: 'too dear' };
  const resume = [{ interruptId: first?.id, status: 'resolved', payload }];
  expect(textOf(await run({ threadId, runId: 'r2', resume }))).toBe('So: denied: too dear');
});

test.each([
  ['the message that began the turn, without the calls', [user('m1', 'call book')]],
  ['the message that began the turn, and its calls', undefined],
])('an AG-UI run begins no turn for a resume with %s', async (_, given) => {
  const threadId = newThread();
  const interrupts = await interrupt(threadId, 'call book');
  const messages = given ?? [user('m1', 'call book'), callsOf(interrupts, 'book')];
  const resume = [{ interruptId: interrupts[0]?.id, status: 'cancelled' }];
  await run({ threadId, runId: 'r2', messages, resume });
  expect((await readLog(threadId)).filter((line) => line.startsWith('user: '))).toEqual(['user: call book']);
});

test('an AG-UI run keeps a new message although the resumed request lacks the tool calls of the first turn', async () => {
  const threadId = newThread();
  const [first] = await interrupt(threadId, 'call book');
  const messages = [user('m1', 'call book'), user('m2', 'and now')];
  const resume = [{ interruptId: first?.id, status: 'cancelled' }];
  expect(textOf(await run({ threadId, runId: 'r2', messages, resume }))).toContain('heard and now');
  const log = await readLog(threadId);
  expect(log.filter((line) => line.startsWith('user: '))).toEqual(['user: call book', 'user: and now']);
});

test('an AG-UI run accepts a tool result together with the approval of another call', async () => {
  const threadId = newThread();
  const interrupts = await interrupt(threadId, 'call book,locate');
  const [first] = interrupts;
  const located = (first?.toolCallId ?? '').replace(/0$/, '1');
  const messages = [
    user('m1', 'call book,locate'),
    callsOf(interrupts, 'book', [callOf(located, 'locate')]),
    { id: 'tool-1', role: 'tool', toolCallId: located, content: 'at home' },
  ];
  const resume = [{ interruptId: first?.id, status: 'resolved', payload: true }];
  const events = await run({ threadId, runId: 'r2', messages, resume });
  expect(textOf(events)).toBe('So: booked | at home');
});

test.each(['before', 'behind'])(
  'an AG-UI run accepts a tool result and a user message that stands %s it',
  async (place) => {
    const threadId = newThread();
    const events = await run({ threadId, runId: 'r1', messages: [user('m1', 'call locate')] });
    const { outcome } = events.at(-1) as unknown as { outcome: { pendingToolCallIds: [string] } };
    const [id] = outcome.pendingToolCallIds;
    const result = { id: 'tool-1', role: 'tool', toolCallId: id, content: 'at home' };
    const message = user('m2', 'where is the sea');
    const added = place === 'before' ? [message, result] : [result, message];
    const messages = [user('m1', 'call locate'), callsOf([], '', [callOf(id, 'locate')]), ...added];
    expect(textOf(await run({ threadId, runId: 'r2', messages }))).toContain('heard where is the sea');
    const log = await readLog(threadId);
    expect(log).toContain('tool: at home');
    expect(log.filter((line) => line === 'user: where is the sea').length).toBe(1);
  },
);

test('an AG-UI run answers two user messages that were typed before the run as one input', async () => {
  const threadId = newThread();
  await run({ threadId, runId: 'r1', messages: [user('m1', 'hello')] });
  const messages = [user('m1', 'hello'), { id: 'r1/1', role: 'assistant', content: 'heard' }];
  const body = { threadId, runId: 'r2', messages: [...messages, user('m2', 'one'), user('m3', 'two')] };
  expect(textOf(await run(body))).toContain('heard one\n\ntwo after');
  const log = await readLog(threadId);
  await run(body);
  expect(await readLog(threadId)).toEqual(log);
});

test('an AG-UI run does not repeat a message that an earlier, failed run brought', async () => {
  const threadId = newThread();
  await run({ threadId, runId: 'r1', messages: [user('m1', 'fail')] });
  await run({ threadId, runId: 'r2', messages: [user('m1', 'fail'), user('m2', 'hello')] });
  const users = (await readLog(threadId)).filter((line) => line.startsWith('user: '));
  expect(users).toEqual(['user: fail', 'user: hello']);
});

test('an AG-UI run reports at once that its message waits behind the interrupt of another run', async () => {
  const threadId = newThread();
  const gate = Promise.withResolvers<void>();
  gates.set('ag-ui-busy', gate);
  const first = run({ threadId, runId: 'r0', messages: [user('m0', 'hold ag-ui-busy')] });
  const stateOf = async (turn: string) => (await fixture.client.result(threadId, turn).catch(() => undefined))?.state;
  await expect.poll(() => stateOf('r0')).toBe('running');
  await fixture.client.enqueueTurn({ conversation: threadId, agent: 'guide', turn: 'r1', input: 'call book' });
  const response = await post({ threadId, runId: 'r2', messages: [user('m2', 'hello')] });
  // The answer begins before its turn is accepted.
  await expect.poll(() => stateOf('r2')).toBe('queued');
  gate.resolve();
  await first;
  let text = '';
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (!text.includes('"waiting"') || text.includes('"answered"')) continue;
    const frame = text.split('\n\n').find((one) => one.includes('"waiting"')) ?? '';
    const { value } = JSON.parse(frame.slice(6)) as { value: { behind: string; interrupts: Interrupt[] } };
    expect(value).toMatchObject({ behind: 'r1', for: 'approval' });
    const resume = [{ interruptId: value.interrupts[0]?.id, status: 'cancelled' }];
    expect((await run({ threadId, runId: 'r3', resume })).at(-1)).toMatchObject({ outcome: { type: 'success' } });
    text += '"answered"';
  }
  const frames = text.split('\n\n').flatMap((frame) => frame.split('data: ').slice(1));
  expect(textOf(frames.map((frame) => JSON.parse(frame) as AgUiEvent))).toContain('heard hello');
});

const refusals = [
  [
    'an entry for another run',
    'resume[1].interruptId',
    (id: string) => [{ interruptId: id }, { interruptId: 'r9/c2_0' }],
  ],
  ['the same call twice', 'resume[1].interruptId', (id: string) => [{ interruptId: id }, { interruptId: id }]],
  [
    'a cancelled entry with a payload',
    'resume[0].payload',
    (id: string) => [{ interruptId: id, payload: { approved: true } }],
  ],
] as const;

test.each(refusals)('an AG-UI run refuses a resume with %s, and changes nothing', async (_, field, entries) => {
  const threadId = newThread();
  const [first] = await interrupt(threadId, 'call book');
  const resume = entries(first?.id ?? '').map((entry) => ({ status: 'cancelled', ...entry }));
  const refused = await post({ threadId, runId: 'r2', messages: [user('m2', 'more')], resume });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field });
  const { turns } = await fixture.client.openTurns(threadId);
  expect(turns).toMatchObject([{ turn: 'r1', state: 'waiting' }]);
});

test('an AG-UI run refuses a resume with edited arguments, because the edit would not run', async () => {
  const threadId = newThread();
  const [first] = await interrupt(threadId, 'call book');
  const payload = { approved: true, editedArgs: { place: 'there' } };
  const refused = await post({
    threadId,
    runId: 'r2',
    resume: [{ interruptId: first?.id, status: 'resolved', payload }],
  });
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: 'resume[0].payload.editedArgs' });
});

test('an AG-UI run refuses a resume in the legacy form, which names no interrupt', async () => {
  const threadId = newThread();
  await interrupt(threadId, 'call book');
  const forwardedProps = { command: { resume: { approved: true } } };
  const refused = await post({ threadId, runId: 'r2', messages: [user('m2', 'more')], forwardedProps });
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: 'forwardedProps.command.resume' });
});

test.each([
  ['of an interrupt that is not the open one', 'conflict', (id: string) => id.replace(/\.\w+$/, `.${'0'.repeat(32)}`)],
  ['of an unknown turn', 'not_found', () => 'nobody/c2_0'],
])('an AG-UI run with a message and a resume %s is refused, and changes nothing', async (_, code, nameOf) => {
  const threadId = newThread();
  const [first] = await interrupt(threadId, 'call book');
  const resume = [{ interruptId: nameOf(first?.id ?? ''), status: 'cancelled' }];
  const events = await run({ threadId, runId: 'r2', messages: [user('m2', 'more')], resume });
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code });
  const { turns } = await fixture.client.openTurns(threadId);
  expect(turns).toMatchObject([{ turn: 'r1', state: 'waiting' }]);
});

test('an AG-UI run refuses a message that it cannot take before it records the decisions beside it', async () => {
  const threadId = newThread();
  const [first] = await interrupt(threadId, 'call book');
  const resume = [{ interruptId: first?.id, status: 'cancelled' }];
  const messages = [user('m2', 'x'.repeat(1_100_000))];
  const large = await run({ threadId, runId: 'r2', messages, resume });
  expect(large.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'message_too_large' });
  const same = await run({ threadId, runId: 'r1', messages: [user('m2', 'more')], resume });
  expect(same.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'invalid_input' });
  expect((await fixture.client.result(threadId, 'r1')).waiting?.calls).toMatchObject([{ id: first?.toolCallId }]);
});
