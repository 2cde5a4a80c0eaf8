import { OpenAI } from 'openai';
import { expect, test } from 'vitest';
import { compactApp } from '../../src/api/http/compact/compact-app.ts';
import { shortenMessages } from '../../src/api/http/compact/shorten.ts';
import type { Summarizer } from '../../src/domain/summarizer.ts';

const LISTING = Array.from({ length: 400 }, (_, line) => `src/file-${line}.ts: ok`).join('\n');

function conversation(): object[] {
  return [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Why does the build fail?' },
    { type: 'function_call', call_id: 'a', name: 'run', arguments: '{"command":"make"}' },
    { type: 'function_call_output', call_id: 'a', output: `${LISTING}\nerror: src/main.ts:42 is missing a bracket` },
    { role: 'assistant', content: [{ type: 'output_text', text: 'A bracket is missing in src/main.ts, line 42.' }] },
    { role: 'user', content: 'Fix it.' },
    { type: 'function_call', call_id: 'b', name: 'edit', arguments: '{}' },
  ];
}

const summarizer: Summarizer = { id: 'fake', summarize: async () => ({ status: 'written', text: 'by a model' }) };

function openClient(): OpenAI {
  const app = compactApp({ authenticate: 'none', summarizers: { small: summarizer } });
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    await app.fetch(new Request(url, init));
  return new OpenAI({ baseURL: 'http://127.0.0.1/v1', apiKey: 'none', maxRetries: 0, fetch });
}

async function compact(body: object) {
  // The client's types require a model of OpenAI.
  const { output, object } = await openClient().responses.compact({ model: 'structural', ...body });
  return { output: output as unknown as Record<string, unknown>[], object };
}

test('the compact route keeps user messages and open calls, and summarizes the rest into one item', async () => {
  const { output, object } = await compact({ input: conversation(), max_tokens: 100 });
  expect(object).toBe('response.compaction');
  expect(output.map(({ type, role }) => role ?? type)).toEqual([
    'system',
    'user',
    'user',
    'compaction',
    'function_call',
  ]);
  expect(output[3]?.['encrypted_content']).toContain('src/main.ts');
});

test('the compact route without a model gives the same summary each time', async () => {
  const [first, second] = [await compact({ input: conversation() }), await compact({ input: conversation() })];
  expect(first.output[3]?.['encrypted_content']).toBe(second.output[3]?.['encrypted_content']);
});

test('the compact route compacts its own output again', async () => {
  const { output } = await compact({ input: conversation(), max_tokens: 100 });
  const again = await compact({ input: output, max_tokens: 100 });
  expect(again.output.filter(({ type }) => type === 'compaction').length).toBe(1);
});

test('the compact route writes the summary as a user message that any provider accepts', async () => {
  const { output } = await compact({ input: conversation(), as: 'message', max_tokens: 100 });
  const [part] = (output[3]?.['content'] ?? []) as { text: string }[];
  expect(output[3]).toMatchObject({ type: 'message', role: 'user' });
  expect(part?.text).toMatch(/^<summary messages="1-3">/);
});

test.each(['gpt-5', 'constructor'])(
  'the compact route asks a summarizer with a model by its name, and works without a model for %s',
  async (other) => {
    const { output } = await compact({ input: conversation(), model: 'small' });
    expect(output[3]?.['encrypted_content']).toBe('by a model');
    const structural = await compact({ input: conversation() });
    const unknown = await compact({ input: conversation(), model: other });
    expect(unknown.output[3]?.['encrypted_content']).toBe(structural.output[3]?.['encrypted_content']);
    await expect(compact({ input: 'x', model: undefined })).rejects.toMatchObject({ status: 422, param: 'model' });
  },
);

test('the compact route shortens the longest texts, and keeps their first and last lines', () => {
  const [short, long] = shortenMessages(
    [
      { role: 'assistant', content: 'short' },
      { role: 'tool', toolCallId: 'a', content: LISTING },
    ],
    1_000,
  );
  expect(short?.content).toBe('short');
  expect(long?.content.length).toBeLessThanOrEqual(1_000);
  expect(long?.content.startsWith('src/file-0.ts: ok\n')).toBe(true);
  expect(long?.content.endsWith('\nsrc/file-399.ts: ok')).toBe(true);
});
