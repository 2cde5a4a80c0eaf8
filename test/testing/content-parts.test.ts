import { afterEach, expect, test } from 'vitest';
import type { ModelRequest } from '../../src/domain/model.ts';
import { type Agent, defineAgent, scriptedModel } from '../../src/index.ts';
import { openTestWorkers, type TestWorkers } from '../../src/testing/index.ts';
import { SHORT_PDF } from '../fakes/contents.ts';

let workers: Pick<TestWorkers, 'close'> | undefined;

afterEach(() => workers?.close());

async function open(loadContent?: Agent['loadContent']) {
  const requests: ModelRequest[] = [];
  const model = scriptedModel({
    decide: (request) => {
      requests.push(request);
      return { content: 'I see.' };
    },
  });
  const agents = [
    defineAgent({ name: 'eye', system: '', model, tools: [], policy: {}, ...(loadContent && { loadContent }) }),
  ];
  const opened = await openTestWorkers({ agents });
  workers = opened;
  return { client: opened.client, requests };
}

const BYTES = Buffer.from(SHORT_PDF, 'base64');
const turn = { conversation: 'c', agent: 'eye', turn: 't', input: 'Look.' } as const;

test('a turn accepts images and files by URL and by bytes, and its log keeps them', async () => {
  const { client, requests } = await open();
  const parts = [
    { type: 'image', url: 'https://files.example/a.png' },
    { type: 'file', data: BYTES, mediaType: 'application/pdf', name: 'a.pdf' },
  ];
  await client.enqueueTurn({ ...turn, parts });
  await client.result('c', 't', { waitMs: 10_000 });
  const stored = [parts[0], { ...parts[1], data: SHORT_PDF }];
  expect(requests[0]?.messages[0]).toMatchObject({ content: 'Look.', parts: stored });
  const [entry] = await client.log('c');
  expect(entry?.message.parts).toEqual(stored);
  await expect(client.enqueueTurn({ ...turn, parts: parts.slice(0, 1) })).rejects.toMatchObject({
    code: 'turn_conflict',
  });
});

test.each([
  ['a text', [{ type: 'text', text: 'no' }]],
  ['an unknown part', [{ type: 'video' }]],
  ['no list', 'no'],
])('enqueueTurn refuses %s as a message part', async (_, parts) => {
  const { client } = await open();
  const refused = client.enqueueTurn({ ...turn, parts: parts as [] });
  await expect(refused).rejects.toMatchObject({ code: 'invalid_input', field: 'parts' });
});

test('the content of a reference is loaded for each request, and only the reference is stored', async () => {
  const asked: unknown[] = [];
  const { client, requests } = await open(async (content, { tenant, conversation }) => {
    asked.push([content.reference, tenant, conversation]);
    return content.reference === 'gone' ? undefined : BYTES;
  });
  const parts = ['key', 'gone'].map((reference) => ({ type: 'image' as const, reference, mediaType: 'image/png' }));
  await client.enqueueTurn({ ...turn, parts });
  await client.result('c', 't', { waitMs: 10_000 });
  expect(asked).toEqual([
    ['key', '_', 'c'],
    ['gone', '_', 'c'],
  ]);
  expect(requests[0]?.messages[0]?.parts).toEqual([
    { type: 'image', mediaType: 'image/png', data: SHORT_PDF },
    { type: 'text', text: '(content of type image/png no longer exists)' },
  ]);
  const [entry] = await client.log('c');
  expect(entry?.message.parts).toEqual(parts);
});

test('a turn waits for a retry if the content of a reference cannot be loaded', async () => {
  const { client } = await open(async () => {
    throw new Error('the store is away');
  });
  await client.enqueueTurn({ ...turn, parts: [{ type: 'image', reference: 'key', mediaType: 'image/png' }] });
  await expect.poll(async () => (await client.result('c', 't')).waiting?.for).toBe('retry');
});
