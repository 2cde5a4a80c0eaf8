/** The requests of the test suite of Open Responses, without those over WebSocket. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
});
afterAll(() => fixture.http.close());

const message = (role: string, content: unknown) => ({ type: 'message', role, content });
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF =
  'data:application/pdf;base64,JVBERi0xLjEKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0tpZHNbMyAwIFJdL0NvdW50IDE+PmVuZG9iagozIDAgb2JqPDwvVHlwZS9QYWdlL1BhcmVudCAyIDAgUi9NZWRpYUJveFswIDAgMTAgMTBdPj5lbmRvYmoKdHJhaWxlcjw8L1Jvb3QgMSAwIFI+Pg==';
const tools = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'Weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];

interface Body {
  readonly id: string;
  readonly status: string;
  readonly output: readonly { readonly type: string; readonly call_id?: string }[];
}

async function post(body: object): Promise<Response> {
  return await fetch(`${fixture.baseUrl}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
    body: JSON.stringify({ model: 'support', ...body }),
  });
}

async function create(body: object): Promise<Body> {
  const response = await post(body);
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

async function readTypes(body: object): Promise<string[]> {
  const text = await (await post({ ...body, stream: true })).text();
  return [...text.matchAll(/^event: (.*)$/gm)].map(([, type = '']) => type);
}

describe('the requests of Open Responses on an agent that has none of the tools', () => {
  test.each([
    ['basic response', { input: [message('user', 'Say hello in exactly 3 words.')] }],
    ['system prompt', { input: [message('system', 'You are a pirate.'), message('user', 'Say hello.')] }],
    [
      'image input',
      {
        input: [
          message('user', [
            { type: 'input_text', text: 'What do you see?' },
            { type: 'input_image', image_url: PIXEL },
          ]),
        ],
      },
    ],
    [
      'file input',
      {
        input: [
          message('user', [
            { type: 'input_text', text: 'Read the file.' },
            { type: 'input_file', filename: 'a.pdf', file_data: PDF },
          ]),
        ],
      },
    ],
    [
      'several turns',
      { input: [message('user', 'I am Alice.'), message('assistant', 'Hello Alice!'), message('user', 'Who am I?')] },
    ],
    ['without storing', { store: false, input: 'first' }],
  ])('a request of the kind "%s" is completed', async (_name, body) => {
    const response = await create(body);
    expect([response.status, response.output.length]).toEqual(['completed', 1]);
  });

  test('a stream has the events of a text, and ends as completed', async () => {
    const types = await readTypes({ input: [message('user', 'Count from 1 to 5.')] });
    // A turn that no worker has claimed yet is queued first.
    const begun = types.filter((type) => type !== 'response.queued');
    expect(begun.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    expect(types).toContain('response.output_text.delta');
    expect(types.at(-1)).toBe('response.completed');
  });

  test('a tool of the request is called, whole and in a stream, and its output is answered', async () => {
    const input = [message('user', 'use get_weather')];
    const called = await create({ tools, input });
    expect(called.output.map(({ type }) => type)).toContain('function_call');
    expect(await readTypes({ tools, input })).toContain('response.function_call_arguments.delta');
    const choice = { type: 'function', name: 'get_weather' };
    const forced = await create({ tools, tool_choice: choice, input: 'use get_weather' });
    const call = forced.output.find(({ type }) => type === 'function_call');
    const output = { type: 'function_call_output', call_id: call?.call_id, output: '64 degrees' };
    expect((await create({ previous_response_id: forced.id, input: [output] })).status).toBe('completed');
  });

  test('a response continues the response before it', async () => {
    const { id } = await create({ input: 'Remember papaya.' });
    expect((await create({ previous_response_id: id, input: 'What?' })).status).toBe('completed');
  });
});
