import { HttpAgent } from '@ag-ui/client';
import type { Message } from '@ag-ui/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

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

function openThread(text: string): HttpAgent {
  count += 1;
  const initialMessages: Message[] = [{ id: `m${count}`, role: 'user', content: text }];
  return new HttpAgent({ url: `${server.url}/v1/ag-ui`, threadId: `thread-${count}`, initialMessages });
}

/** Runs the agent, and returns the types of its events. */
async function run(agent: HttpAgent, parameters: Parameters<HttpAgent['runAgent']>[0] = {}) {
  const events: Record<string, unknown>[] = [];
  await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) });
  return events;
}

function answersOf(agent: HttpAgent): string[] {
  return agent.messages.flatMap(({ role, content }) => (role === 'assistant' ? [String(content)] : []));
}

async function answersInLog(agent: HttpAgent): Promise<string[]> {
  const log = await fixture.client.log(agent.threadId);
  return log.flatMap(({ message }) => (message.role === 'assistant' ? [message.content] : []));
}

test('an AG-UI run delivers text, usage and a tool call of the worker', async () => {
  const agent = openThread('call look');
  const events = await run(agent, { runId: 'r1' });
  expect(answersOf(agent)).toEqual(await answersInLog(agent));
  expect(agent.messages.find(({ role }) => role === 'tool')).toMatchObject({ content: '{"sky":"blue"}' });
  expect(events.at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
    runId: 'r1',
    outcome: { type: 'success' },
    usage: [{ inputTokens: 20, outputTokens: 10 }],
  });
});

test('the turn of an AG-UI run exists once the front-end has the status', async () => {
  const { threadId, messages } = openThread('hello');
  const body = JSON.stringify({ threadId, runId: 'r1', messages });
  const { body: unread } = await fetch(`${server.url}/v1/ag-ui`, { method: 'POST', headers: JSON_TYPE, body });
  expect(await fixture.client.result(threadId, 'r1')).toMatchObject({ turn: 'r1' });
  await unread?.cancel();
});

test('an AG-UI run streams text and reasoning while the model writes', async () => {
  const gate = Promise.withResolvers<void>();
  gates.set('ag-ui', gate);
  const agent = openThread('hold ag-ui');
  const done = run(agent);
  await expect.poll(() => answersOf(agent)).toEqual(['One ']);
  gate.resolve();
  await done;
  expect(answersOf(agent)).toEqual(['One two.']);
  expect(agent.messages.find(({ role }) => role === 'reasoning')).toMatchObject({ content: 'Hm, ' });
});

test('an AG-UI run shows the text of the log after another model has answered', async () => {
  const gate = Promise.withResolvers<void>();
  gates.set('ag-ui-break', gate);
  const agent = openThread('break ag-ui-break');
  const done = run(agent);
  await expect.poll(() => answersOf(agent)).toEqual(['Nothing ']);
  gate.resolve();
  await done;
  expect(answersOf(agent)).toEqual(['All is well.']);
});

test('a repeated AG-UI run is streamed from its start', async () => {
  const agent = openThread('hello');
  await run(agent, { runId: 'once' });
  await run(agent, { runId: 'once' });
  expect(answersOf(agent)).toEqual(['heard hello after 0 messages']);
  expect((await answersInLog(agent)).length).toBe(1);
});

test.for([
  { payload: { approved: true }, end: 'booked' },
  { payload: { approved: false, why: 'too dear' }, end: 'denied: too dear' },
])('an AG-UI run is interrupted for an approval and resumed by the decision: $end', async ({ payload, end }) => {
  const agent = openThread('call book,look');
  await run(agent);
  const [interrupt] = agent.pendingInterrupts;
  expect(interrupt).toMatchObject({ reason: 'tool_approval', toolCallId: expect.any(String) });
  const resume = [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload }];
  await run(agent, { resume, runId: 'second' });
  expect(answersOf(agent)).toEqual(['One moment.', `So: {"sky":"blue"} | ${end}`]);
  expect(agent.pendingInterrupts).toEqual([]);
  expect(answersOf(agent)).toEqual(await answersInLog(agent));
});

test('an interrupted AG-UI thread refuses new input, and a resume that leaves out an interrupt', async () => {
  const agent = openThread('call book,book');
  await run(agent);
  const post = async (body: object): Promise<string> => {
    const base = { threadId: agent.threadId, messages: [{ id: 'm', role: 'user', content: 'more' }] };
    const sent = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ ...base, ...body }) };
    return await (await fetch(`${server.url}/v1/ag-ui`, sent)).text();
  };
  expect(await post({ runId: 'other' })).toContain('"type":"RUN_ERROR","code":"conversation_busy"');
  const [first] = agent.pendingInterrupts;
  const resume = [{ interruptId: first?.id, status: 'cancelled' }];
  expect(await post({ runId: 'other', resume })).toContain('"type":"RUN_ERROR","code":"conflict"');
});

test('an AG-UI run passes a call to the front-end, and reads its result from a tool message', async () => {
  const agent = openThread('call locate');
  const events = await run(agent);
  const call = agent.messages.findLast(({ role }) => role === 'assistant');
  const [id = ''] = call?.role === 'assistant' ? (call.toolCalls ?? []).map((made) => made.id) : [];
  expect(events.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: [id] } });
  agent.addMessage({ id: 'result', role: 'tool', toolCallId: id, content: 'at home' });
  await run(agent);
  expect(answersOf(agent)).toEqual(['One moment.', 'So: at home']);
});

test('a failed AG-UI run ends with the code of the failure', async () => {
  const agent = openThread('fail');
  const events: unknown[] = [];
  await agent.runAgent({}, { onRunErrorEvent: ({ event }) => void events.push(event) }).catch(() => undefined);
  expect(events).toMatchObject([{ type: 'RUN_ERROR', code: 'model_failed' }]);
});

test('AG-UI refuses a request without a message', async () => {
  const refused = await fetch(`${server.url}/v1/ag-ui`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ threadId: 't', runId: 'r', messages: [] }),
  });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: 'messages' });
});

async function stop(body: object): Promise<Response> {
  const sent = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) };
  return await fetch(`${server.url}/v1/ag-ui/stop`, sent);
}

test('AG-UI stops a run by its id or by a message of the run, and keeps the text that the front-end saw', async () => {
  for (const name of ['runId', 'messageId'] as const) {
    const gate = Promise.withResolvers<void>();
    gates.set('stopped', gate);
    const agent = openThread('hold stopped');
    const { threadId } = agent;
    const ended = run(agent, { runId: 'r1' });
    await expect.poll(() => answersOf(agent)).toEqual(['One ']);
    const names = { runId: 'r1', messageId: agent.messages.at(-1)?.id };
    expect(await (await stop({ threadId, [name]: names[name] })).json()).toEqual({ turn: 'r1', state: 'canceled' });
    expect((await ended).at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
    expect(answersOf(agent)).toEqual(['One ']);
    expect(await answersInLog(agent)).toEqual(['One ']);
    agent.addMessage({ id: `${threadId}-next`, role: 'user', content: 'go on' });
    await run(agent, { runId: 'r2' });
    expect(answersOf(agent)).toEqual(['One ', 'heard go on after 2 messages']);
    gate.resolve();
  }
});

test('a stop that comes after the end of its AG-UI run touches no later run', async () => {
  const gate = Promise.withResolvers<void>();
  gates.set('late', gate);
  const agent = openThread('hello');
  const { threadId } = agent;
  await run(agent, { runId: 'r1' });
  agent.addMessage({ id: `${threadId}-next`, role: 'user', content: 'hold late' });
  const next = run(agent, { runId: 'r2' });
  await expect.poll(() => answersOf(agent).at(-1)).toBe('One ');
  expect(await (await stop({ threadId, runId: 'r1' })).json()).toEqual({ turn: 'r1', state: 'completed' });
  expect(await (await stop({ threadId })).json()).toMatchObject({ code: 'invalid_input', field: 'runId' });
  expect((await stop({ threadId, runId: 'r3' })).status).toBe(404);
  gate.resolve();
  await next;
  expect(answersOf(agent).at(-1)).toBe('One two.');
});
