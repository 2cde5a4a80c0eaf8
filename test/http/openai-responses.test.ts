import type { OpenAI } from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
let openai: OpenAI;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
  ({ openai } = fixture);
});
afterAll(() => fixture.http.close());

const weather = {
  type: 'function',
  name: 'weather_of',
  description: 'Weather of a city',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;
const user = (content: string) => ({ role: 'user', content }) as const;
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('a response under /openai/v1 is created, retrieved, streamed and continued by the SDK of OpenAI', async () => {
  const first = await openai.responses.create({ model: 'support', input: 'hello' });
  expect(first).toMatchObject({ status: 'completed', output_text: 'heard hello', model: 'support' });
  expect((await openai.responses.retrieve(first.id)).output).toEqual(first.output);
  const second = openai.responses.stream({ model: 'support', input: 'history', previous_response_id: first.id });
  expect((await second.finalResponse()).output_text).toBe('user: hello / assistant: heard hello / user: history');
});

test('a function that a request brings is called, and its output is found by `call_id` alone', async () => {
  const input: ResponseInputItem[] = [user('use weather_of')];
  const asked = await openai.responses.create({ model: 'support', input, tools: [weather] });
  expect(asked.output.map(({ type }) => type)).toEqual(['message', 'function_call']);
  const call = asked.output.find((item) => item.type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: '21 degrees' } as const;
  const history = [...input, ...asked.output, output] as ResponseInputItem[];
  const answered = await openai.responses.create({ model: 'support', input: history, tools: [weather] });
  expect(answered.output_text).toBe('Results: 21 degrees');
  expect(answered.conversation, 'the waiting turn was answered').toEqual(asked.conversation);
  const again = await openai.responses.create({ model: 'support', input: history, tools: [weather] });
  expect(again.id, 'a repeated request finds its response').toBe(answered.id);
});

test('an output under other tools goes on in a new conversation, which has all that the request says', async () => {
  const input: ResponseInputItem[] = [user('use weather_of')];
  const asked = await openai.responses.create({ model: 'support', input, tools: [weather] });
  const call = asked.output.find((item) => item.type === 'function_call');
  const output = { type: 'function_call_output', call_id: call?.call_id ?? '', output: '21 degrees' } as const;
  const history = [...input, ...asked.output, output, user('history')] as ResponseInputItem[];
  const other = await openai.responses.create({ model: 'support', input: history, instructions: 'Be brief.' });
  expect(other.conversation).not.toEqual(asked.conversation);
  expect(other.output_text).toContain('tool: 21 degrees / user: history');
});

test('a response repeats its instructions, tools and metadata, and the model gets them', async () => {
  const body = { model: 'support', input: 'system', instructions: 'Speak French.', metadata: { user: 'u1' } } as const;
  const response = await openai.responses.create(body);
  expect(response.output_text).toBe('You support.\n\nSpeak French.');
  expect(response).toMatchObject({ instructions: 'Speak French.', metadata: { user: 'u1' } });
  expect((await openai.responses.retrieve(response.id)).metadata).toEqual({ user: 'u1' });
  const short = await openai.responses.create({ model: 'support', input: 'limit', max_output_tokens: 100 });
  expect(short.output_text).toBe('limit 100');
});

test('a schema of a request is the form of its answer', async () => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' }, degrees: { type: 'number' } },
    required: ['city', 'degrees'],
    additionalProperties: false,
  };
  const text = { format: { type: 'json_schema', name: 'weather', strict: true, schema } } as const;
  const response = await openai.responses.create({ model: 'support', input: 'weather', text });
  expect(JSON.parse(response.output_text)).toEqual({ city: 'Bern', degrees: 21 });
  const failed = await openai.responses.create({ model: 'support', input: 'hello', text });
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'answer_invalid' } });
});

test('images and files of a request reach the model', async () => {
  const content = [
    { type: 'input_text', text: 'parts' },
    { type: 'input_image', image_url: PIXEL, detail: 'auto' },
    { type: 'input_file', filename: 'a.pdf', file_url: 'https://files.example/a.pdf' },
  ] as const;
  const response = await openai.responses.create({
    model: 'support',
    input: [{ role: 'user', content: [...content] }],
  });
  expect(response).toMatchObject({ error: null, output_text: 'parts text,image,file_url' });
});

test('a request may bring every item that a response has, and references to such items', async () => {
  const first = await openai.responses.create({ model: 'support', input: 'use find_order' });
  expect(first.output.map(({ type }) => type)).toEqual(['message', 'mcp_call', 'message']);
  const items = [user('use find_order'), ...first.output, user('history')] as ResponseInputItem[];
  const told =
    'user: use find_order / assistant: One moment. / tool: a blue jacket / assistant: Results: a blue jacket / user: history';
  expect((await openai.responses.create({ model: 'support', input: items })).output_text).toBe(told);
  const references = first.output.map(({ id }) => ({ type: 'item_reference', id: id ?? '' }) as const);
  const named: ResponseInputItem[] = [user('use find_order'), ...references, user('history')];
  expect((await openai.responses.create({ model: 'support', input: named })).output_text).toBe(told);
  const unknown = [{ type: 'item_reference', id: 'msg_x' }, user('hello')] as ResponseInputItem[];
  const refused = openai.responses.create({ model: 'support', input: unknown });
  await expect(refused).rejects.toMatchObject({ status: 404, code: 'not_found', param: 'input[0].id' });
});

test('a response with `store: false` leaves nothing behind', async () => {
  const response = await openai.responses.create({ model: 'support', input: 'hello', store: false });
  expect(response).toMatchObject({ output_text: 'heard hello', store: false });
  await expect(openai.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  const stream = openai.responses.stream({ model: 'support', input: 'hello', store: false });
  const { id } = await stream.finalResponse();
  await expect.poll(() => openai.responses.retrieve(id).catch(({ status }: { status: number }) => status)).toBe(404);
});

test.for([
  [{ temperature: 0.1 }, 'temperature', 'unsupported_value'],
  [{ reasoning: { effort: 'low' } }, 'reasoning.effort', 'unsupported_value'],
  [{ parallel_tool_calls: false }, 'parallel_tool_calls', 'unsupported_value'],
  [{ colour: 'blue' }, 'colour', 'unknown_parameter'],
  [{ tools: [{ type: 'web_search' }] }, 'tools[0].type', 'unsupported_value'],
  [{ tools: [{ type: 'function', name: 'a b' }] }, 'tools[0].name', 'invalid_input'],
  [{ previous_response_id: 'resp_x' }, 'previous_response_id', 'not_found'],
] as const)('a request with %j is refused by the name of its parameter', async ([fields, param, code]) => {
  const refused = openai.responses.create({ model: 'support', input: 'hello', ...(fields as object) });
  await expect(refused).rejects.toMatchObject({ param, code });
});

test.for([
  { user: 'u1' },
  { safety_identifier: 'u1', prompt_cache_key: 'k', service_tier: 'auto' },
  { truncation: 'auto', include: ['reasoning.encrypted_content'], temperature: 1, top_p: 1 },
] as const)('a request with %j is answered, because the parameters change nothing', async (fields) => {
  const response = await openai.responses.create({ model: 'support', input: 'hello', ...(fields as object) });
  expect(response.output_text).toBe('heard hello');
});

test('an unknown model is refused as `model_not_found`, and the known ones are listed', async () => {
  const refused = openai.responses.create({ model: 'gpt-5', input: 'hello' });
  await expect(refused).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  expect((await openai.models.list()).data).toMatchObject([{ id: 'support', object: 'model' }]);
  expect(await openai.models.retrieve('support')).toMatchObject({ id: 'support' });
  await expect(openai.models.retrieve('gpt-5')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
});

test('a response lists its input, counts tokens, and is deleted', async () => {
  const response = await openai.responses.create({ model: 'support', input: 'hello' });
  const { data } = await openai.responses.inputItems.list(response.id);
  expect(data).toMatchObject([{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] }]);
  const { input_tokens: tokens } = await openai.responses.inputTokens.count({ model: 'support', input: 'hello' });
  expect(tokens).toBeGreaterThan(0);
  const more = { model: 'support', input: 'hello', previous_response_id: response.id };
  expect((await openai.responses.inputTokens.count(more)).input_tokens).toBeGreaterThan(tokens);
  const second = await openai.responses.create(more);
  const refused = openai.responses.delete(response.id);
  await expect(refused).rejects.toMatchObject({ status: 409, code: 'conflict' });
  const alone = await openai.responses.create({ model: 'support', input: 'hello' });
  await openai.responses.delete(alone.id);
  await expect(openai.responses.retrieve(alone.id)).rejects.toMatchObject({ status: 404 });
  expect((await openai.responses.retrieve(second.id)).output_text).toBe('heard hello');
});

test('errors under /openai/v1 have the form of OpenAI, also for unknown paths and methods', async () => {
  const read = async (method: string, path: string, body?: string) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(fixture.baseUrl + path, { method, headers, ...(body !== undefined && { body }) });
    return [response.status, ((await response.json()) as { error: { type: string; code: string } }).error];
  };
  expect(await read('GET', '/nothing')).toMatchObject([404, { type: 'invalid_request_error', code: 'no_route' }]);
  expect(await read('PUT', '/responses')).toMatchObject([405, { code: 'method_not_allowed' }]);
  expect(await read('POST', '/responses', '{')).toMatchObject([400, { code: 'invalid_input' }]);
  expect(await read('POST', '/responses', '{}')).toMatchObject([400, { code: 'invalid_input', param: 'input' }]);
});

test('a page of an allowed origin may send the headers of the SDK of OpenAI', async () => {
  const origin = 'https://app.example';
  const { url, stop } = await fixture.http.serve({ cors: [origin] });
  const asked = 'authorization,content-type,openai-organization,x-stainless-lang,x-stainless-retry-count,x-evil';
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked };
  const preflight = await fetch(`${url}/openai/v1/responses`, { method: 'OPTIONS', headers });
  const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').split(',');
  const given = asked.split(',');
  expect(given.filter((name) => !allowed.includes(name))).toEqual(['x-evil']);
  await stop();
});
