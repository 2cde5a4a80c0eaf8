import { afterAll, beforeAll, expect, test } from 'vitest';
import { responsesApp } from '../../src/api/http/responses/responses-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';
import { withOutages } from './outage-client.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
/** Errors that the next accepted messages meet, as in an outage. */
const outages: Error[] = [];
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const client = withOutages(fixture, outages);
  server = await serveApp(responsesApp({ authenticate: 'none', clientFor: () => client, agent: 'guide' }));
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

test.each(['before', 'behind'])(
  'a request for a response may bring an output and a message that stands %s it',
  async (place) => {
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
  },
);

test('a request for a response may bring a decision and a message behind it', async () => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call book' });
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request');
  const decision = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: false };
  expect(textOf(await create({ conversation, input: [decision, user('hello')] }))).toContain('heard hello');
  expect(await rolesOf(conversation)).toContain('tool: denied: the call was not approved');
});

test('a request for a response is refused if it brings a message with an output that no turn waits for', async () => {
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
])(
  'a request for a response is refused if instructions stand %s its answers, and changes nothing',
  async (place, index) => {
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
  },
);

test('a response whose message waits behind open calls is returned at once as queued', async () => {
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

test('the stream of a response names the response that it waits behind, and continues after that response', async () => {
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

/** Asks for the result of a call. @returns the item of the call, and the one that answers it */
async function askForResult(conversation: string, input = 'call locate') {
  const asked = await create({ conversation, input });
  const call = asked.output.find(({ type }) => type === 'function_call');
  return { asked, call, output: { type: 'function_call_output', call_id: call?.call_id, output: 'at home' } };
}

test.each([
  ['behind its answers', 0],
  ['before its answers', 1],
])('repeating a request for a response repairs an outage between its answers and its message %s', async (_, place) => {
  for (const isNamed of [true, false]) {
    const conversation = newName();
    const { asked, output } = await askForResult(conversation);
    const input = place === 0 ? [output, user('hello')] : [user('hello'), output];
    const body = isNamed ? { conversation, input } : { previous_response_id: asked.id, input };
    const key = `outage-${conversation}`;
    outages.push(new Error('the message is lost'));
    expect((await post(body, key)).status).toBe(500);
    const [, turn = ''] = asked.id.split('~');
    await fixture.client.result(conversation, turn, { waitMs: WAIT_MS });
    expect(textOf(await create(body, key))).toContain('heard hello');
    const users = (await rolesOf(conversation)).filter((line) => line.startsWith('user: '));
    expect(users).toEqual(['user: call locate', 'user: hello']);
  }
});

test('a repeated answer gets the same response, although its turn has ended since', async () => {
  const conversation = newName();
  const { output } = await askForResult(conversation);
  const first = await create({ conversation, input: [output] });
  await create({ conversation, input: 'hello' });
  const log = await rolesOf(conversation);
  expect(await create({ conversation, input: [output] })).toMatchObject({ id: first.id, output: first.output });
  expect(await rolesOf(conversation)).toEqual(log);
  const contrary = await post({ conversation, input: [{ ...output, output: 'elsewhere' }] });
  expect([contrary.status, await contrary.json()]).toMatchObject([409, { code: 'conflict' }]);
});

test('an answer is recorded although its request repeats the answers of an earlier turn', async () => {
  const conversation = newName();
  const first = await askForResult(conversation);
  const answered = await create({ conversation, input: [first.output] });
  const second = await askForResult(conversation);
  const input = [user('call locate'), first.call, first.output, ...answered.output, user('call locate')];
  const again = await create({ conversation, input: [...input, second.call, second.output, user('hello')] });
  expect(textOf(again)).toContain('heard hello');
  const log = await rolesOf(conversation);
  expect(log.filter((line) => line === 'tool: at home').length).toBe(2);
  expect(log.filter((line) => line.startsWith('user: '))).toEqual(
    ['call locate', 'call locate', 'hello'].map((one) => `user: ${one}`),
  );
});

test.each([[[]], [[user('hello')]]])(
  'a request for a response may bring answers that each follow their call, with %j',
  async (messages) => {
    const conversation = newName();
    const asked = await create({ conversation, input: 'call locate,locate' });
    const calls = asked.output.filter(({ type }) => type === 'function_call');
    const pairs = calls.flatMap((call) => [
      call,
      { type: 'function_call_output', call_id: call.call_id, output: 'at home' },
    ]);
    const done = await create({ previous_response_id: asked.id, input: [...pairs, ...messages] });
    expect(done.status).toBe('completed');
    expect((await rolesOf(conversation)).filter((line) => line === 'tool: at home').length).toBe(2);
  },
);

test('a message for a full mailbox is refused before an answer beside it is recorded', async () => {
  const conversation = newName();
  const { output } = await askForResult(conversation);
  const turns = Array.from({ length: 999 }, (_, index) => ({ conversation, agent: 'guide', input: `${index}` }));
  await fixture.client.enqueueTurns(turns.slice(0, 500));
  await fixture.client.enqueueTurns(turns.slice(500));
  const refused = await post({ conversation, input: [output, user('hello')] });
  expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'mailbox_full' }]);
  const [first] = (await fixture.client.openTurns(conversation, { limit: 1 })).turns;
  expect(first).toMatchObject({ state: 'waiting' });
  await fixture.client.erase(conversation);
});

test('an answer may name the response that waits for the answered call instead of the response that made the call', async () => {
  const conversation = newName();
  const asked = await create({ conversation, input: 'call book' });
  const request = asked.output.find(({ type }) => type === 'mcp_approval_request');
  const queued = await create({ previous_response_id: asked.id, input: 'hello' });
  const decision = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
  const answered = await create({ previous_response_id: queued.id, input: [decision] });
  expect(textOf(answered)).toContain('So: booked');
});
