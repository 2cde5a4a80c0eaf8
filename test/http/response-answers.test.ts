import { afterAll, beforeAll, expect, test } from 'vitest';
import { responsesApp } from '../../src/http/responses/responses-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  server = await serveApp(responsesApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' }));
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

function newName(): string {
  count += 1;
  return `talk-${count}`;
}

interface Item {
  readonly type: string;
  readonly id: string;
  readonly call_id?: string;
  readonly content?: readonly { readonly text: string }[];
}

interface ResponseBody {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
  readonly metadata: Readonly<Record<string, string>>;
}

async function post(body: object, key?: string): Promise<Response> {
  return await fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
    body: JSON.stringify(body),
  });
}

async function create(body: object, key?: string): Promise<ResponseBody> {
  const response = await post(body, key);
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as ResponseBody;
}

const textOf = ({ output }: ResponseBody): string =>
  output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join('|');

const user = (content: string) => ({ type: 'message', role: 'user', content });

async function rolesOf(conversation: string): Promise<string[]> {
  const log = await fixture.client.log(conversation);
  return log.map(({ message: { role, content } }) => `${role}: ${content}`);
}

test.each(['before', 'behind'])('takes an output and a message that stands %s it', async (place) => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call locate' });
  const call = asked.output.find(({ type }) => type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.call_id, output: 'at home' };
  const added = place === 'before' ? [user('hello'), output] : [call, output, user('hello')];
  const key = `key-${place}`;
  const body = { previous_response_id: asked.id, input: added };
  expect(textOf(await create(body, key))).toContain('heard hello');
  const log = await rolesOf(conversation);
  expect(log.filter((line) => line === 'tool: at home' || line === 'user: hello')).toEqual([
    'tool: at home',
    'user: hello',
  ]);
  // A repeated request changes nothing.
  expect(textOf(await create(body, key))).toContain('heard hello');
  expect(await rolesOf(conversation)).toEqual(log);
});

test('takes a decision and a message behind it', async () => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call book' });
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request');
  const decision = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: false };
  expect(textOf(await create({ conversation, input: [decision, user('hello')] }))).toContain('heard hello');
  expect(await rolesOf(conversation)).toContain('tool: denied: the call was not approved');
});

test('refuses a message with an output that no turn waits for', async () => {
  const conversation = newName();
  await create({ conversation, input: 'hello' });
  const output = { type: 'function_call_output', call_id: 'c2_0', output: 'at home' };
  const refused = await post({ conversation, input: [user('more'), output] });
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({ code: 'conflict', field: 'input' });
  expect((await rolesOf(conversation)).length).toBe(2);
});

test.each([
  ['before', 0],
  ['behind', 1],
])('refuses instructions that stand %s the answers, and changes nothing', async (place, index) => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call locate' });
  const call = asked.output.find(({ type }) => type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.call_id, output: 'at home' };
  const system = { type: 'message', role: 'system', content: 'be brief' };
  const input = place === 'before' ? [system, output] : [output, system, user('hello')];
  const refused = await post({ conversation, input });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ code: 'invalid_input', field: `input[${index}]` });
  expect((await fixture.client.openTurns(conversation)).turns).toMatchObject([{ state: 'waiting' }]);
});

test('answers at once, as queued, while a message waits behind open calls', async () => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call book' });
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request');
  const queued = await create({ previous_response_id: asked.id, input: 'hello' });
  const metadata = { waits_behind: asked.id, waits_for: 'approval', open_calls: request?.id };
  expect(queued).toMatchObject({ status: 'queued', metadata });
  const read = async () => (await (await fetch(`${server.url}/v1/responses/${queued.id}`)).json()) as ResponseBody;
  expect(await read()).toMatchObject({ status: 'queued', metadata });
  const decision = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
  await create({ previous_response_id: asked.id, input: [decision] });
  await fixture.client.result(conversation, queued.id.split('~')[1] ?? '', { waitMs: WAIT_MS });
  const done = await read();
  expect(done).toMatchObject({ status: 'completed', metadata: {} });
  expect(textOf(done)).toContain('heard hello');
});

test('a stream names the response that it waits behind, and goes on', async () => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call book' });
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request');
  const response = await post({ previous_response_id: asked.id, input: 'hello', stream: true });
  const decision = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
  let text = '';
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    const isBlocked = text.includes('"waits_behind"');
    text += chunk;
    if (isBlocked || !text.includes('"waits_behind"')) continue;
    await create({ previous_response_id: asked.id, input: [decision] });
  }
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(text).toContain(`"waits_behind":"${asked.id}"`);
  expect(text).toContain('event: response.completed');
});
