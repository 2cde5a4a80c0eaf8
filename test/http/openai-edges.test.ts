/** Requests at the edges of OpenAI's APIs, as its SDK and the AI SDK send them. */
import { createOpenAI } from '@ai-sdk/openai';
import { tool as aiTool, generateText, stepCountIs } from 'ai';
import type { OpenAI } from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createProtocols } from '../../src/api/http/index.ts';
import { gates, type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
let openai: OpenAI;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
  ({ openai } = fixture);
});
afterAll(() => fixture.http.close());

const user = (content: string) => ({ role: 'user', content }) as const;
const functionOf = (name: string) =>
  ({ type: 'function', name, strict: false, parameters: { type: 'object', properties: {} } }) as const;
const conversationOf = (id: string) => /^resp_(.+?)~/.exec(id)?.[1] ?? '';
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('the AI SDK shows the error of a response that failed', async () => {
  const model = createOpenAI({ baseURL: fixture.baseUrl, apiKey: 'none' }).responses('support');
  await expect(generateText({ model, prompt: 'fail', maxRetries: 0 })).rejects.toThrow('the model is broken');
});

test('the AI SDK runs tools in two steps, and goes on from them', async () => {
  const model = createOpenAI({ baseURL: fixture.baseUrl, apiKey: 'none' }).responses('support');
  const tools = {
    weather_of: aiTool({ inputSchema: z.object({ city: z.string() }), execute: async () => '21 degrees' }),
  };
  const first = await generateText({ model, prompt: 'use weather_of', tools, stopWhen: stepCountIs(3) });
  const messages = [user('use weather_of'), ...first.responseMessages, user('use weather_of')];
  const second = await generateText({ model, messages, tools, stopWhen: stepCountIs(3) });
  expect(second.text).toBe('Results: 21 degrees');
  const third = await generateText({ model, messages: [...messages, ...second.responseMessages, user('history')] });
  expect(third.text).toContain('tool: 21 degrees');
  expect(third.text.match(/tool: 21 degrees/g)?.length).toBe(2);
});

async function askWeather(more: object = {}) {
  const tools = [functionOf('weather_of')];
  const asked = await openai.responses.create({ model: 'support', input: 'use weather_of', tools, ...more });
  const call = asked.output.find((item) => item.type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: '21 degrees' } as const;
  return { asked, call, output, tools };
}

test('a call that was answered is found by its id, together with its output', async () => {
  const { asked, call, output, tools } = await askWeather();
  await openai.responses.create({ model: 'support', input: [output], previous_response_id: asked.id, tools });
  const reference = { type: 'item_reference', id: call?.id ?? '' } as const;
  const input: ResponseInputItem[] = [user('use weather_of'), reference, output, user('history')];
  const { output_text: text } = await openai.responses.create({ model: 'support', input });
  expect(text).toContain('tool: 21 degrees / user: history');
  const conversation = { conversation_id: conversationOf(asked.id) };
  const item = await openai.conversations.items.retrieve(call?.id ?? '', conversation);
  expect(item).toMatchObject({ type: 'function_call', name: 'weather_of', arguments: '{"city":"Bern"}' });
});

test('the input of a response that goes on from outputs is these outputs', async () => {
  const { asked, output, tools } = await askWeather();
  const answered = await openai.responses.create({
    model: 'support',
    input: [output],
    previous_response_id: asked.id,
    tools,
  });
  const [name] = output.call_id.split('.');
  const { data } = await openai.responses.inputItems.list(answered.id);
  expect(data).toMatchObject([{ type: 'function_call_output', call_id: name, output: '21 degrees' }]);
  const { data: begun } = await openai.responses.inputItems.list(asked.id);
  expect(begun).toMatchObject([{ type: 'message', role: 'user' }]);
});

test('a response that waits for its caller has the same time of its end each time that it is read', async () => {
  const { asked } = await askWeather();
  const read = await openai.responses.retrieve(asked.id);
  expect(read.completed_at).toBe(asked.completed_at);
  expect(read.completed_at).toBeGreaterThanOrEqual(read.created_at);
});

test('an output may have pictures, which reach the model', async () => {
  const { asked, call, tools } = await askWeather();
  const output: ResponseInputItem.FunctionCallOutput['output'] = [
    { type: 'input_text', text: 'a map' },
    { type: 'input_image', image_url: PIXEL, detail: 'auto' },
  ];
  const item = { type: 'function_call_output', call_id: call?.call_id ?? '', output } as const;
  const answered = await openai.responses.create({
    model: 'support',
    input: [item],
    previous_response_id: asked.id,
    tools,
  });
  expect(answered.output_text).toBe('Results: a map');
  const log = await fixture.http.client.log(conversationOf(asked.id));
  expect(log.find(({ message }) => message.role === 'tool')?.message.parts).toMatchObject([
    { type: 'text' },
    { type: 'input_image' },
  ]);
  const { data } = await openai.responses.inputItems.list(answered.id);
  expect(data).toMatchObject([{ output: [{ type: 'input_text', text: 'a map' }, { type: 'input_image' }] }]);
});

test.for([
  [{ type: 'function', name: 'weather_of' }],
  [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'weather_of' }] }],
  [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'weather_of' }] }],
])('a choice of tools leaves the model only the named tools of the request: %j', async ([choice]) => {
  const tools = [functionOf('weather_of'), functionOf('time_of')];
  const body = { model: 'support', tools, tool_choice: choice as never };
  const asked = await openai.responses.create({ ...body, input: 'use weather_of' });
  expect(asked.output.at(-1)).toMatchObject({ type: 'function_call', name: 'weather_of' });
  const missing = await openai.responses.create({ ...body, input: 'use time_of' });
  expect(missing.output_text).toBe('no tool time_of');
});

test('a client that named a tool, and sends its output with all tools, answers the turn that waits', async () => {
  const tools = [functionOf('time_of'), functionOf('weather_of')];
  const input = [user('use weather_of')];
  const choice = { type: 'function', name: 'weather_of' } as const;
  const asked = await openai.responses.create({ model: 'support', input, tools, tool_choice: choice });
  const call = asked.output.find((item) => item.type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: '21 degrees' } as const;
  const history = [...input, ...asked.output, output] as ResponseInputItem[];
  const answered = await openai.responses.create({ model: 'support', input: history, tools });
  expect([answered.conversation, answered.output_text]).toEqual([asked.conversation, 'Results: 21 degrees']);
});

const image = (fields: object) => ({
  role: 'user',
  content: [
    { type: 'input_text', text: 'x' },
    { type: 'input_image', ...fields },
  ],
});

test.for([
  [
    { input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
    'input[0].content[0].type',
    'unsupported_value',
  ],
  [{ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'input[0].content[0].text', 'invalid_input'],
  [{ input: [image({ file_id: 'file_1' })] }, 'input[0].content[1].file_id', 'unsupported_parameter'],
  [{ input: [{ type: 'new_item' }, user('hi')] }, 'input[0].type', 'invalid_input'],
  [{ input: [] }, 'input', 'invalid_input'],
  [{ input: [{ role: 'assistant', content: 'hi' }] }, 'input', 'invalid_input'],
  [{ input: [user('hi')], include: ['message.output_text.logprobs'] }, 'include[0]', 'unsupported_value'],
  [{ tool_choice: { type: 'web_search' } }, 'tool_choice', 'unsupported_value'],
  [
    { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp' }] } },
    'tool_choice',
    'unsupported_value',
  ],
  [{ text: { format: { type: 'json_schema', name: 'a' } } }, 'text.format.schema', 'invalid_input'],
  [{ text: { format: { type: 'grammar' } } }, 'text.format.type', 'unsupported_value'],
  [{ text: { verbosity: 'low' } }, 'text.verbosity', 'unsupported_value'],
  [{ tools: [functionOf('find_order'), functionOf('find_order')] }, 'tools[1].name', 'invalid_input'],
  [{ max_output_tokens: 0 }, 'max_output_tokens', 'invalid_input'],
  [{ metadata: { a: 'x'.repeat(513) } }, 'metadata.a', 'invalid_input'],
  [{ conversation: 'a b' }, 'conversation', 'invalid_input'],
  [{ conversation: 'a', previous_response_id: 'resp_a~b' }, 'conversation', 'invalid_input'],
  [{ store: false, background: true }, 'store', 'unsupported_value'],
] as const)('a request with %j is refused by the path of the wrong value', async ([fields, param, code]) => {
  const refused = openai.responses.create({ model: 'support', input: 'hello', ...(fields as object) });
  await expect(refused).rejects.toMatchObject({ status: 400, param, code });
});

test.for(['resp_nobody~t1', 'resp_x', 'nothing', 'resp_a~b~c0_0'])(
  'every route of the unknown response %s answers 404 with the name of its parameter',
  async (id) => {
    const error = { status: 404, code: 'not_found', param: 'response_id', type: 'invalid_request_error' };
    await expect(openai.responses.retrieve(id)).rejects.toMatchObject(error);
    await expect(openai.responses.retrieve(id, { stream: true })).rejects.toMatchObject(error);
    await expect(openai.responses.cancel(id)).rejects.toMatchObject(error);
    await expect(openai.responses.delete(id)).rejects.toMatchObject(error);
    await expect(openai.responses.inputItems.list(id)).rejects.toMatchObject(error);
  },
);

test('a key that was used for another request is refused by its name, and the SDK does not repeat it', async () => {
  let attempts = 0;
  const counting: typeof fetch = async (url, init) => {
    attempts += 1;
    return await fetch(url, init);
  };
  const repeating = openai.withOptions({ maxRetries: 2, fetch: counting });
  const headers = { 'idempotency-key': 'edge-1' };
  await openai.responses.create({ model: 'support', input: 'hello' }, { headers });
  for (const base of ['/openai/v1', '/v1']) {
    attempts = 0;
    const baseURL = fixture.baseUrl.replace('/openai/v1', base);
    const again = repeating
      .withOptions({ baseURL })
      .responses.create({ model: 'support', input: 'other' }, { headers });
    await expect(again).rejects.toMatchObject({ status: 409, code: 'turn_conflict', param: 'idempotency-key' });
    expect(attempts).toBe(1);
  }
});

test('items of a conversation are listed behind an item, and a position that no item has is refused', async () => {
  const { id } = await openai.conversations.create({ items: ['1', '2', '3', '4', '5'].map(user) });
  const textsOf = async (query: object) => {
    const page = await openai.conversations.items.list(id, query);
    return [page.data.map((item) => ('content' in item ? item.content : [])), page.has_more] as const;
  };
  const text = (one: string) => [{ type: 'input_text', text: one }];
  expect(await textsOf({ limit: 2 })).toEqual([[text('5'), text('4')], true]);
  expect(await textsOf({ limit: 2, order: 'asc', after: `msg_${id}~-~3` })).toEqual([[text('4'), text('5')], false]);
  expect(await textsOf({ limit: 2, after: `msg_${id}~-~3` })).toEqual([[text('2'), text('1')], false]);
  for (const after of ['999999999999999', '9'.repeat(40), '0', '-1', 'x', '6'].map((seq) => `msg_${id}~-~${seq}`)) {
    for (const order of ['asc', 'desc'] as const) {
      const refused = openai.conversations.items.list(id, { after, order });
      await expect(refused, `${after} ${order}`).rejects.toMatchObject({ status: 404, param: 'after' });
    }
  }
});

test.for([
  ['cut', 'max_output_tokens', 'length'],
  ['refuse', 'content_filter', 'content_filter'],
] as const)(
  'an answer of the kind "%s" is incomplete because of %s, and ends a chat with %s',
  async ([input, reason, end]) => {
    const response = await openai.responses.create({ model: 'support', input });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason }, error: null });
    const stream = await openai.responses.create({ model: 'support', input, stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe('response.incomplete');
    const messages = [{ role: 'user', content: input } as const];
    const chat = await openai.chat.completions.create({ model: 'support', messages, user: 'edge-ends' });
    expect(chat.choices[0]?.finish_reason).toBe(end);
  },
);

test('a page of an allowed origin reads each refusal, and whether to repeat its request', async () => {
  const origin = 'https://shop.example';
  const { url, stop } = await fixture.http.serve({
    cors: [origin],
    protocols: createProtocols({ client: fixture.http.client, agent: 'support' }),
  });
  for (const [method, path, status] of [
    ['GET', '/openai/v1/responses/resp_x', 404],
    ['GET', '/openai/v1/nothing', 404],
    ['DELETE', '/openai/v1/conversations/c/items/i', 409],
  ] as const) {
    const answer = await fetch(url + path, { method, headers: { origin } });
    expect([path, answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([path, status, origin]);
    if (status === 409) expect(answer.headers.get('access-control-expose-headers')).toContain('x-should-retry');
  }
  await stop();
});

test('a queued response reports in its stream that it runs', async () => {
  const gate = 'edge-queue';
  gates.set(gate, Promise.withResolvers());
  const first = await openai.responses.create({ input: `hold ${gate}`, background: true });
  const types: string[] = [];
  const stream = await openai.responses.create({ input: 'hello', previous_response_id: first.id, stream: true });
  for await (const { type, ...event } of stream) {
    types.push('response' in event ? `${type} ${event.response.status}` : type);
    gates.get(gate)?.resolve();
  }
  expect(types.slice(0, 2)).toEqual(['response.created queued', 'response.queued queued']);
  expect(types).toContain('response.in_progress in_progress');
  expect(types.at(-1)).toBe('response.completed completed');
});

test('a client that leaves a response with `store: false` leaves nothing behind, and stops its turn', async () => {
  const gate = 'edge-left';
  gates.set(gate, Promise.withResolvers());
  const stream = openai.responses.stream({ model: 'support', input: `hold ${gate}`, store: false });
  const { response } = await stream.emitted('response.created');
  await stream.emitted('response.output_text.delta');
  stream.abort();
  await stream.done().catch(() => undefined);
  const read = () => openai.responses.retrieve(response.id).catch(({ status }: { status: number }) => status);
  await expect.poll(read).toBe(404);
  gates.get(gate)?.resolve();
});

test('a response is deleted only if its conversation has no other one, however long it is', async () => {
  const items = Array.from({ length: 20 }, (_, index) => user(`${index}`));
  const { id: conversation } = await openai.conversations.create({ items });
  for (let count = 0; count < 50; count += 1) await openai.conversations.items.create(conversation, { items });
  const first = await openai.responses.create({ conversation, input: 'hello' });
  await openai.responses.create({ conversation, input: 'more' });
  await expect(openai.responses.delete(first.id)).rejects.toMatchObject({ status: 409, param: 'response_id' });
});

test('a refusal of the model in a chat stays in its history, and a call in the old form is refused', async () => {
  const refusal = { role: 'assistant', content: null, refusal: 'I cannot.' } as const;
  const messages = [user('hello'), refusal, user('history')];
  const completion = await openai.chat.completions.create({ model: 'support', messages, user: 'edge-1' });
  expect(completion.choices[0]?.message.content).toBe('user: hello / assistant: I cannot. / user: history');
  const old = { role: 'assistant', content: null, function_call: { name: 'a', arguments: '{}' } } as const;
  const refused = openai.chat.completions.create({ model: 'support', messages: [user('hello'), old, user('x')] });
  await expect(refused).rejects.toMatchObject({ status: 400, param: 'messages[1].function_call' });
});
