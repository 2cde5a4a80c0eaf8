import { HttpAgent } from '@ag-ui/client59';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from './ag-ui-agent.ts';
import { serveApp } from './served-app.ts';

type Parameters = NonNullable<globalThis.Parameters<HttpAgent['runAgent']>[0]>;

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

type User = globalThis.Parameters<HttpAgent['addMessage']>[0];

/** The client that CopilotKit and assistant-ui install. It refuses events that its schema does not know. */
function openThread(content: string | object[], initialState?: object): HttpAgent {
  count += 1;
  const message = { id: `m${count}`, role: 'user', content } as User;
  const named = { url: `${server.url}/v1/ag-ui`, threadId: `older-${count}`, initialMessages: [message] };
  return new HttpAgent({ ...named, ...(initialState && { initialState }) });
}

async function run(agent: HttpAgent, parameters: Parameters = {}): Promise<Record<string, unknown>[]> {
  const events: Record<string, unknown>[] = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push({ ...event }) });
  return events;
}

const answerOf = (agent: HttpAgent): unknown => agent.messages.findLast(({ role }) => role === 'assistant')?.content;

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const SET_THEME = {
  name: 'set_theme',
  description: 'Sets the theme of the page',
  parameters: { type: 'object', properties: { theme: { type: 'string' } } },
};

function addResult(agent: HttpAgent, content: string): void {
  const call = agent.messages.findLast(({ role }) => role === 'assistant');
  const [made] = call?.role === 'assistant' ? (call.toolCalls ?? []) : [];
  count += 1;
  agent.addMessage({ id: `result-${count}`, role: 'tool', toolCallId: made?.id ?? '', content });
}

test('a tool that a page brings in an AG-UI run is answered by the page, with the client 0.0.59', async () => {
  const agent = openThread('call set_theme');
  const events = await run(agent, { tools: [SET_THEME] });
  // A front-end that gets an outcome takes the run for complete, and keeps the result.
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  expect(events.at(-1)).not.toHaveProperty('outcome');
  addResult(agent, 'dark now');
  await run(agent, { tools: [SET_THEME] });
  expect(answerOf(agent)).toBe('So: dark now');
});

test('a page may bring a tool that its agent declares without `run`, and the agent has this tool once', async () => {
  const agent = openThread('tools');
  await run(agent, { tools: [{ ...SET_THEME, name: 'locate' }, SET_THEME] });
  expect(answerOf(agent)).toBe('read_state count locate book set_theme');
});

test('a tool of a page with the name of a tool that workers run is refused by its path', async () => {
  const agent = openThread('tools');
  const errors: unknown[] = [];
  const tools = [{ ...SET_THEME, name: 'count' }];
  await agent.runAgent({ tools }, { onRunErrorEvent: ({ event }) => void errors.push(event) }).catch(() => undefined);
  expect(errors).toMatchObject([{ code: 'invalid_input', message: expect.stringContaining('tools[0].name') }]);
});

test('the model reads the context and the system messages of an AG-UI run as instructions', async () => {
  const agent = openThread('system');
  agent.setMessages([{ id: 's', role: 'system', content: 'Speak French.' }, ...agent.messages]);
  await run(agent, { context: [{ description: 'The user', value: 'Ada' }] });
  expect(answerOf(agent)).toContain('Speak French.');
  expect(answerOf(agent)).toContain('- The user: Ada');
});

test('tools read the state and the properties of an AG-UI run, but no token', async () => {
  const agent = openThread('call read_state', { count: 3 });
  await run(agent, { forwardedProps: { plan: 'pro', authorization: 'Bearer secret' } });
  expect(answerOf(agent)).toBe('So: {"forwardedProps":{"plan":"pro"},"state":{"count":3}}');
  expect(agent.state).toEqual({ count: 3 });
});

test('a tool changes the state that a page shares with it', async () => {
  const agent = openThread('call count', { count: 3 });
  await run(agent);
  expect(agent.state).toEqual({ count: 4 });
});

test('an image and a document of an AG-UI message reach the model', async () => {
  const image = { type: 'image', source: { type: 'data', value: PIXEL, mimeType: 'image/png' } };
  const paper = { type: 'document', source: { type: 'data', value: 'aGVsbG8=', mimeType: 'text/plain' } };
  const agent = openThread([{ type: 'text', text: 'files' }, image, paper]);
  await run(agent);
  expect(answerOf(agent)).toBe('text image file');
});

test('an AG-UI run is interrupted for an approval, and resumed, with the client 0.0.59', async () => {
  const agent = openThread('call book');
  await run(agent);
  const [interrupt] = agent.pendingInterrupts;
  const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload: { approved: true } }];
  await run(agent, { resume });
  expect(answerOf(agent)).toBe('So: booked');
});

test('a stopped AG-UI run ends without an error, and keeps its text, with the client 0.0.59', async () => {
  gates.set('older', Promise.withResolvers());
  const agent = openThread('hold older');
  const ended = run(agent, { runId: 'r1' });
  await expect.poll(() => answerOf(agent)).toBe('One ');
  await fixture.client.cancel(agent.threadId, 'r1');
  expect((await ended).at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { state: 'canceled' } });
  expect(answerOf(agent)).toBe('One ');
});

test('a client that aborts an AG-UI run stops its turn', async () => {
  gates.set('abort', Promise.withResolvers());
  const agent = openThread('hold abort');
  const ended = run(agent, { runId: 'r1' });
  await expect.poll(() => answerOf(agent)).toBe('One ');
  agent.abortRun();
  await ended;
  await expect.poll(async () => (await fixture.client.result(agent.threadId, 'r1')).state).toBe('canceled');
  agent.addMessage({ id: 'next', role: 'user', content: 'go on' });
  await run(agent, { runId: 'r2' });
  expect(answerOf(agent)).toBe('heard go on');
});

test('an aborted AG-UI run goes on if the server keeps aborted runs', async () => {
  const gate = Promise.withResolvers<void>();
  gates.set('kept', gate);
  const options = { authenticate: 'none', clientFor: () => fixture.client, agent: 'sharer' } as const;
  const keeping = await serveApp(agUiApp({ ...options, onAbort: 'continue' }));
  const { messages, threadId } = openThread('hold kept');
  const agent = new HttpAgent({ url: `${keeping.url}/v1/ag-ui`, threadId, initialMessages: messages });
  const ended = run(agent, { runId: 'r1' });
  await expect.poll(() => answerOf(agent)).toBe('One ');
  agent.abortRun();
  await ended;
  const again = run(agent, { runId: 'r1' });
  gate.resolve();
  await again;
  expect(answerOf(agent)).toBe('One two.');
  await keeping.close();
});

test('an AG-UI run that a second connection shows goes on after the first connection is aborted', async () => {
  const gate = Promise.withResolvers<void>();
  gates.set('twice', gate);
  const first = openThread('hold twice');
  const second = new HttpAgent({
    url: `${server.url}/v1/ag-ui`,
    threadId: first.threadId,
    initialMessages: first.messages,
  });
  const ended = [first, second].map(async (agent) => await run(agent, { runId: 'r1' }));
  for (const agent of [first, second]) await expect.poll(() => answerOf(agent)).toBe('One ');
  first.abortRun();
  await ended[0];
  gate.resolve();
  await ended[1];
  expect(answerOf(second)).toBe('One two.');
});

test('a path of AG-UI names the agent that answers', async () => {
  const agent = openThread('hello');
  const named = new HttpAgent({
    url: `${server.url}/v1/ag-ui/sharer`,
    threadId: 'by-path',
    initialMessages: agent.messages,
  });
  await run(named);
  expect(answerOf(named)).toBe('heard hello');
  expect((await fixture.client.describe('by-path')).agent).toBe('sharer');
});
