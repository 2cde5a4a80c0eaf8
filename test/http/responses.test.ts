import { OpenAI } from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { responsesApp } from '../../src/api/http/responses/responses-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let openai: OpenAI;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  server = await serveApp(responsesApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' }));
  openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

function openGate(): { name: string; open: () => void } {
  count += 1;
  const name = `responses-${count}`;
  const gate = Promise.withResolvers<void>();
  gates.set(name, gate);
  return { name, open: gate.resolve };
}

test('Open Responses creates a response, and a second response continues its conversation', async () => {
  const first = await openai.responses.create({ model: 'guide', input: 'hello' });
  expect(first).toMatchObject({ object: 'response', status: 'completed', output_text: 'heard hello after 0 messages' });
  expect(first.usage).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 });
  const second = await openai.responses.create({ model: 'guide', input: 'more', previous_response_id: first.id });
  expect(second.output_text).toBe('heard more after 2 messages');
  const third = await openai.responses.create({ input: 'last', conversation: first.conversation?.id ?? '' });
  expect(third.output_text).toBe('heard last after 4 messages');
  expect((await openai.responses.retrieve(second.id)).output_text).toBe('heard more after 2 messages');
});

test('a response that continues an older response starts a fork, and leaves the conversation as it is', async () => {
  const first = await openai.responses.create({ input: 'one' });
  const second = await openai.responses.create({ input: 'two', previous_response_id: first.id });
  const create = () =>
    openai.responses.create(
      { input: 'other', previous_response_id: first.id },
      { headers: { 'idempotency-key': 'branch-1' } },
    );
  const branch = await create();
  expect(branch.output_text).toBe('heard other after 2 messages');
  expect(branch.previous_response_id).toBe(first.id);
  expect(branch.conversation?.id).not.toBe(first.conversation?.id);
  expect((await create()).id, 'a repeated request finds its fork').toBe(branch.id);
  const key = { headers: { 'idempotency-key': 'branch-2' } };
  const refused = openai.responses.create({ input: 'x', model: 'other', previous_response_id: first.id }, key);
  await expect(refused).rejects.toMatchObject({ status: 409, code: 'agent_conflict', param: 'model' });
  await expect(fixture.client.describe('conv_branch-2')).rejects.toMatchObject({ code: 'not_found' });
  const third = await openai.responses.create({ input: 'three', previous_response_id: second.id });
  expect(third.output_text).toBe('heard three after 4 messages');
  expect(third.conversation?.id).toBe(first.conversation?.id);
});

test('a response waits behind the newest unfinished response, and is refused behind an older unfinished response', async () => {
  const gate = openGate();
  const first = await openai.responses.create({ input: `hold ${gate.name}`, background: true });
  const second = await openai.responses.create({ input: 'two', previous_response_id: first.id, background: true });
  const refused = openai.responses.create({ input: 'x', previous_response_id: first.id });
  await expect(refused).rejects.toMatchObject({ status: 409, code: 'conversation_busy' });
  gate.open();
  await expect.poll(async () => (await openai.responses.retrieve(second.id)).status).toBe('completed');
  expect((await openai.responses.retrieve(second.id)).output_text).toBe('heard two after 2 messages');
});

test('a response that a rollback removed from its conversation cannot be continued', async () => {
  const first = await openai.responses.create({ input: 'one' });
  const second = await openai.responses.create({ input: 'two', previous_response_id: first.id });
  const [, conversation = '', turn = ''] = /^resp_(.+)~(.+)$/.exec(second.id) ?? [];
  await fixture.client.rollBackTurn(conversation, turn);
  const refused = openai.responses.create({ input: 'x', previous_response_id: second.id });
  await expect(refused).rejects.toMatchObject({ status: 409, code: 'conflict', param: 'previous_response_id' });
  const again = await openai.responses.create({ input: 'again', previous_response_id: first.id });
  expect(again.output_text).toBe('heard again after 2 messages');
  expect(again.conversation?.id).toBe(first.conversation?.id);
});

test('a request for a response may bring a conversation that the caller kept', async () => {
  const { output_text: text } = await openai.responses.create({
    input: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'hello' },
      { role: 'user', content: [{ type: 'input_text', text: 'and now' }] },
    ],
  });
  expect(text).toBe('heard and now after 2 messages');
});

test('a response streams text and reasoning while the model writes, with a tool of the worker', async () => {
  const gate = openGate();
  const stream = openai.responses.stream({ model: 'guide', input: `hold ${gate.name}` });
  stream.on('response.output_text.delta', gate.open);
  const final = await stream.finalResponse();
  expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  expect(final.output_text).toBe('One two.');
  const tool = await openai.responses.stream({ model: 'guide', input: 'call look' }).finalResponse();
  // A reader may miss the thought of a fast model.
  expect(tool.output.filter(({ type }) => type !== 'reasoning')).toMatchObject([
    { type: 'message' },
    { type: 'mcp_call', name: 'look', output: '{"sky":"blue"}' },
    { type: 'message' },
  ]);
});

test('a response has the text of the log after another model has answered', async () => {
  const gate = openGate();
  const stream = openai.responses.stream({ model: 'guide', input: `break ${gate.name}` });
  const deltas: string[] = [];
  stream.on('response.output_text.delta', ({ delta }) => {
    deltas.push(delta);
    gate.open();
  });
  expect((await stream.finalResponse()).output_text).toBe('All is well.');
  expect(deltas[0]).toBe('Nothing ');
});

test('a background response can be resumed behind any event', async () => {
  const gate = openGate();
  const created = await openai.responses.create({ input: `hold ${gate.name}`, background: true });
  expect(['queued', 'in_progress']).toContain(created.status);
  const all: ResponseStreamEvent[] = [];
  for await (const event of await openai.responses.retrieve(created.id, { stream: true })) {
    all.push(event);
    if (event.type === 'response.output_text.delta') gate.open();
  }
  expect(textOf(all)).toBe('One two.');
  const places = all.map((event) => event.sequence_number);
  expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
  for (const [index, { sequence_number: after }] of all.entries()) {
    const rest: ResponseStreamEvent[] = [];
    const query = { stream: true, starting_after: after } as const;
    for await (const event of await openai.responses.retrieve(created.id, query)) rest.push(event);
    expect(textOf([...all.slice(0, index + 1), ...rest])).toBe('One two.');
  }
});

test('a response passes a call to the caller, and the next request brings its output', async () => {
  const asked = await openai.responses.create({ input: 'call locate' });
  const call = asked.output.find((item) => item.type === 'function_call');
  expect(call).toMatchObject({ name: 'locate', arguments: '{"place":"here"}', status: 'completed' });
  const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'at home' };
  const answered = await openai.responses.create({ input: [output], previous_response_id: asked.id });
  expect(answered.output_text).toBe('So: at home');
  expect(answered.output.length).toBe(1);
  expect((await openai.responses.retrieve(answered.id)).output_text).toBe('So: at home');
});

test.for([true, false])('a response asks for approval of a call (approved: %s)', async (approve) => {
  const asked = await openai.responses.stream({ model: 'guide', input: 'call book' }).finalResponse();
  const request = asked.output.find((item) => item.type === 'mcp_approval_request');
  const decision = {
    type: 'mcp_approval_response' as const,
    approval_request_id: request?.id ?? '',
    approve,
    reason: 'too dear',
  };
  const answered = await openai.responses.create({ input: [decision], previous_response_id: asked.id });
  expect(answered.output_text).toBe(approve ? 'So: booked' : 'So: denied: too dear');
});

test('a canceled response keeps its text as an incomplete item', async () => {
  const gate = openGate();
  const stream = openai.responses.stream({ model: 'guide', input: `hold ${gate.name}` });
  const { response } = await stream.emitted('response.created');
  await stream.emitted('response.output_text.delta');
  const item = { type: 'message', status: 'incomplete', content: [{ type: 'output_text', text: 'One ' }] };
  const shownOf = ({ status, output }: { status?: string; output: { type: string }[] }) => ({
    status,
    output: output.filter(({ type }) => type === 'message'),
  });
  const shown = { status: 'cancelled', output: [item] };
  expect(shownOf(await openai.responses.cancel(response.id))).toMatchObject(shown);
  expect(shownOf(await stream.finalResponse())).toMatchObject(shown);
  expect(shownOf(await openai.responses.retrieve(response.id))).toMatchObject(shown);
  gate.open();
  const next = await openai.responses.create({ input: 'next', previous_response_id: response.id });
  expect(next.output_text).toBe('heard next after 2 messages');
});

test('a failed response is reported with its error, and a running response can be canceled', async () => {
  const failed = await openai.responses.create({ input: 'fail' });
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_failed' } });
  const gate = openGate();
  const created = await openai.responses.create({ input: `hold ${gate.name}`, background: true });
  expect((await openai.responses.cancel(created.id)).status).toBe('cancelled');
  gate.open();
});

test('a request for a response that arrives twice with one Idempotency-Key gets the same response', async () => {
  const headers = { 'idempotency-key': 'key-1' };
  const create = () =>
    openai.responses.create(
      {
        input: [
          { role: 'assistant', content: 'x' },
          { role: 'user', content: 'y' },
        ],
      },
      { headers },
    );
  const [first, second] = await Promise.all([create(), create()]);
  expect(second.id).toBe(first.id);
  expect((await create()).output_text).toBe('heard y after 1 messages');
});

test('Open Responses refuses the id of an unknown response, and a parameter that no turn can follow', async () => {
  for (const id of ['resp_nobody~t1', 'resp_x']) {
    const unknown = openai.responses.create({ input: 'hello', previous_response_id: id });
    await expect(unknown).rejects.toMatchObject({ status: 404, code: 'not_found', param: 'previous_response_id' });
  }
  const both = openai.responses.create({ input: 'x', previous_response_id: 'resp_a~b', conversation: 'a' });
  await expect(both).rejects.toMatchObject({ status: 422, param: 'conversation' });
  const refused = openai.responses.create({ input: 'hello', temperature: 0.1 });
  await expect(refused).rejects.toMatchObject({ status: 422, code: 'invalid_input', param: 'temperature' });
  await expect(openai.responses.retrieve('resp_x')).rejects.toMatchObject({ status: 404 });
});

function textOf(events: readonly ResponseStreamEvent[]): string {
  return events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
}
