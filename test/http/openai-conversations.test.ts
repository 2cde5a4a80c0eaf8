import type { OpenAI } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
let openai: OpenAI;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
  ({ openai } = fixture);
});
afterAll(() => fixture.http.close());

async function readAll(id: string, order: 'asc' | 'desc') {
  const items = [];
  for await (const item of openai.conversations.items.list(id, { order, limit: 2 })) items.push(item);
  return items;
}

test('a conversation is created with items, continued by responses, listed in pages, and deleted', async () => {
  const items = [{ type: 'message', role: 'user', content: 'earlier' }] as const;
  const { id } = await openai.conversations.create({ items: [...items] });
  await openai.responses.create({ model: 'support', input: 'use find_order', conversation: id });
  const listed = await readAll(id, 'asc');
  expect(listed.map((item) => [item.type, 'role' in item ? item.role : undefined])).toEqual([
    ['message', 'user'],
    ['message', 'user'],
    ['message', 'assistant'],
    ['mcp_call', undefined],
    ['message', 'assistant'],
  ]);
  const newest = await readAll(id, 'desc');
  expect(newest).toEqual(listed.toReversed());
  for (const item of listed) {
    const read = await openai.conversations.items.retrieve(item.id ?? '', { conversation_id: id });
    expect(read).toEqual(item);
  }
  expect(await openai.conversations.retrieve(id)).toMatchObject({ id, object: 'conversation' });
  expect(await openai.conversations.delete(id)).toMatchObject({ id, deleted: true });
  expect((await openai.conversations.items.list(id)).data).toEqual([]);
});

test('a conversation takes items without a response, and their ids are found in later requests', async () => {
  const { id } = await openai.conversations.create();
  expect((await openai.conversations.items.list(id)).data).toEqual([]);
  const added = await openai.conversations.items.create(id, {
    items: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ],
  });
  const references = added.data.map((item) => ({ type: 'item_reference', id: item.id ?? '' }) as const);
  const input = [...references, { role: 'user', content: 'history' } as const];
  const response = await openai.responses.create({ model: 'support', input });
  expect(response.output_text).toBe('user: one / assistant: two / user: history');
  const within = await openai.responses.create({ model: 'support', input, conversation: id });
  expect(within.output_text, 'the log has the items once').toBe('user: one / assistant: two / user: history');
});

test('a conversation has metadata, which an update replaces', async () => {
  const items = [{ type: 'message', role: 'user', content: 'earlier' }] as const;
  const metadata = { user: 'u1' };
  const { id } = await openai.conversations.create({ items: [...items], metadata });
  expect((await openai.conversations.retrieve(id)).metadata).toEqual({ user: 'u1' });
  await openai.responses.create({ model: 'support', input: 'hello', conversation: id });
  await openai.conversations.update(id, { metadata: { user: 'u2' } });
  expect((await openai.conversations.retrieve(id)).metadata).toEqual({ user: 'u2' });
  const unstored = openai.conversations.create({ metadata });
  await expect(unstored).rejects.toMatchObject({ status: 400, param: 'metadata' });
});

test('an unknown conversation or item is refused, and an item cannot be deleted', async () => {
  await expect(openai.conversations.retrieve('conv_x')).rejects.toMatchObject({ status: 404, code: 'not_found' });
  const { id } = await openai.conversations.create();
  const unknown = openai.conversations.items.retrieve('msg_x', { conversation_id: id });
  await expect(unknown).rejects.toMatchObject({ status: 404, param: 'item_id' });
  const kept = openai.conversations.items.delete('msg_x', { conversation_id: id });
  await expect(kept).rejects.toMatchObject({ status: 409, code: 'unsupported_operation' });
});

test('a repeated request appends images and outputs unless the conversation ends with the very same ones', async () => {
  const { id } = await openai.conversations.create();
  type Items = Parameters<typeof openai.conversations.items.create>[1]['items'];
  const append = async (items: Items, retries = 0): Promise<number> => {
    const headers = { 'x-stainless-retry-count': String(retries) };
    await openai.conversations.items.create(id, { items }, { headers });
    return (await fixture.http.client.log(id)).length;
  };
  const image = (name: string): Items => [
    { role: 'user', content: [{ type: 'input_image', detail: 'auto', image_url: `https://pictures.test/${name}` }] },
  ];
  const call = (name: string) => ({ type: 'function_call', call_id: name, name: 'find', arguments: '{}' }) as const;
  const output = (name: string): Items => [{ type: 'function_call_output', call_id: name, output: 'ok' }];
  const heads = [
    await append(image('a')),
    await append(image('b'), 1),
    await append(image('b'), 1),
    await append([call('call_1'), call('call_2')]),
    await append(output('call_1')),
    await append(output('call_1'), 1),
    await append(output('call_2'), 1),
    await append(output('call_2'), 2),
  ];
  expect(heads).toEqual([1, 2, 2, 3, 4, 4, 5, 5]);
});
