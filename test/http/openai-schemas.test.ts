/** Compares what the routes of OpenAI send with the schemas of the OpenAPI document. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { chatEventSchema, completionSchema } from '../../src/api/http/openai/chat-schema.ts';
import {
  conversationItemSchema,
  responseEventSchema,
  responseSchema,
} from '../../src/api/http/responses/event-schema.ts';
import { type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
});
afterAll(() => fixture.http.close());

const functionOf = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } });

async function post(path: string, body: object): Promise<string> {
  const response = await fetch(fixture.baseUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return await response.text();
}

const eventsOf = (text: string): Record<string, unknown>[] =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data) as Record<string, unknown>);

/** Fails for a value that has another form than its schema. */
function check(schema: z.ZodType, value: unknown): void {
  expect(schema.safeParse(value).error, JSON.stringify(value)).toBeUndefined();
}

const INPUTS = [
  'hello',
  'think',
  'fail',
  'use find_order',
  'use refund',
  'use weather_of',
  'use find_order,weather_of',
];

test('all events of responses have the forms of the document, and each form of a type is sent', async () => {
  const seen = new Set<unknown>();
  const items = new Set<unknown>();
  for (const input of INPUTS) {
    const events = eventsOf(await post('/responses', { input, tools: [functionOf('weather_of')], stream: true }));
    for (const event of events) {
      check(responseEventSchema, event);
      seen.add(event['type']);
      const { item } = event as { item?: { type: string } };
      if (item !== undefined) items.add(item.type);
    }
    const { response } = events.at(-1) as { response?: unknown };
    check(responseSchema, response);
  }
  const types = responseEventSchema.options.map(({ shape }) => shape.type.value);
  // A wait, a limit and a server that stops are needed for the others.
  const others = ['response.queued', 'response.in_progress', 'response.incomplete', 'error'];
  expect([...seen]).toEqual(expect.arrayContaining(types.filter((type) => !others.includes(type))));
  const shown = ['function_call', 'mcp_approval_request', 'mcp_call', 'message', 'reasoning'];
  expect(items).toEqual(new Set(shown));
});

test('all items of a conversation have the forms of the document', async () => {
  const { id } = JSON.parse(
    await post('/conversations', {
      items: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_image', image_url: 'https://pictures.example/a.png' },
          ],
        },
        { role: 'system', content: 'b' },
        { type: 'function_call', call_id: 'call_1', name: 'find', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'found' },
      ],
    }),
  ) as { id: string };
  await post('/responses', { conversation: id, input: 'use find_order' });
  const response = await fetch(`${fixture.baseUrl}/conversations/${id}/items?order=asc`);
  const { data } = (await response.json()) as { data: { type: string }[] };
  for (const item of data) check(conversationItemSchema, item);
  expect(data.map(({ type }) => type)).toEqual([
    'message',
    'message',
    'function_call',
    'function_call_output',
    'message',
    'message',
    'mcp_call',
    'message',
  ]);
});

test('all answers and chunks of chats have the forms of the document', async () => {
  const ends = new Set<unknown>();
  for (const input of INPUTS) {
    const { name, ...given } = functionOf('weather_of');
    const body = {
      messages: [{ role: 'user', content: input }],
      tools: [{ type: 'function', function: { name, parameters: given.parameters } }],
    };
    if (input !== 'fail') check(completionSchema, JSON.parse(await post('/chat/completions', body)));
    const more = { stream: true, stream_options: { include_usage: true } };
    const text = await post('/chat/completions', { ...body, ...more });
    for (const event of eventsOf(text)) {
      check(chatEventSchema, event);
      const { choices = [] } = event as { choices?: { finish_reason: string | null }[] };
      for (const { finish_reason: end } of choices) ends.add(end);
    }
    expect(text.endsWith('data: [DONE]\n\n')).toBe(input !== 'fail');
  }
  expect([...ends]).toEqual(expect.arrayContaining([null, 'stop', 'tool_calls']));
});
