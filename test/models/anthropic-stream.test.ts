/** Compares the message that turnfold builds from a stream with the SDK's for the same events. */
import type Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { openAnthropic } from '../../src/providers/anthropic/client.ts';
import { MessageReading } from '../../src/providers/anthropic/message-stream.ts';
import { ask, connect, KEY } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const user: Message = { role: 'user', content: 'Which files?' };
const asked: Anthropic.MessageCreateParams = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };

const usage = { input_tokens: 7, cache_read_input_tokens: 50, cache_creation_input_tokens: 3, output_tokens: 1 };
const start = {
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage },
};
const stop = { type: 'message_stop' };

function end(stop_reason: string | null = 'end_turn', counted: object = { output_tokens: 90 }): object {
  return { type: 'message_delta', delta: { stop_reason, stop_sequence: null, stop_details: null }, usage: counted };
}

function say(index: number, content_block: object, ...deltas: readonly object[]): object[] {
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

function sayText(index: number, ...pieces: readonly string[]): object[] {
  return say(index, { type: 'text', text: '' }, ...pieces.map((text) => ({ type: 'text_delta', text })));
}

const input = (partial_json: string) => ({ type: 'input_json_delta', partial_json });
const serverUse = {
  type: 'server_tool_use',
  id: 'srvtoolu_1',
  name: 'web_search',
  input: {},
  caller: { type: 'direct' },
};
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result' }] };
const cited = { type: 'web_search_result_location', url: 'https://x.test', cited_text: 'so' };

const streams: Readonly<Record<string, readonly object[]>> = {
  'thinking, text and calls': [
    start,
    { type: 'ping' },
    ...say(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Hm, ' },
      { type: 'thinking_delta', thinking: 'two.' },
      { type: 'signature_delta', signature: 'EqQB' },
    ),
    ...say(1, { type: 'redacted_thinking', data: 'sealed' }),
    ...sayText(2, 'I ', '', 'look.'),
    ...say(3, { type: 'tool_use', id: 't3', name: 'read', input: {} }, input(''), input('{"path":'), input(' "a"}')),
    ...say(4, { type: 'tool_use', id: 't4', name: 'list', input: {} }, input('')),
    end('tool_use'),
    stop,
  ],
  'a server’s tool and citations': [
    start,
    ...say(0, serverUse, input('{"query"'), input(': "so"}')),
    ...say(1, found),
    ...say(
      2,
      { type: 'text', text: '', citations: [] },
      { type: 'citations_delta', citation: cited },
      { type: 'text_delta', text: 'So.' },
      { type: 'citations_delta', citation: { ...cited, cited_text: 'it is' } },
    ),
    end('pause_turn', { output_tokens: 90, input_tokens: 11, cache_read_input_tokens: null, server_tool_use: {} }),
    stop,
  ],
  'a compaction in one event': [
    start,
    ...say(0, { type: 'compaction', content: 'All.', encrypted_content: 'sealed' }),
    ...sayText(1, 'So.'),
    end(),
    stop,
  ],
  'blocks whose pieces interleave': [
    start,
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't0', name: 'read', input: {} } },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't1', name: 'read', input: {} } },
    { type: 'content_block_delta', index: 0, delta: input('{"a":') },
    { type: 'content_block_delta', index: 1, delta: input('{"b":') },
    { type: 'content_block_delta', index: 0, delta: input('1}') },
    { type: 'content_block_delta', index: 1, delta: input('2}') },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_stop', index: 1 },
    end('tool_use'),
    stop,
  ],
  'unknown events and blocks': [
    start,
    { type: 'message_hint', hint: 1 },
    ...say(0, { type: 'hologram', light: 1 }, { type: 'light_delta', light: 2 }),
    ...sayText(1, 'So.'),
    end('tired'),
    stop,
  ],
  'token counts only at the end': [
    { ...start, message: { ...start.message, usage: { input_tokens: 0, output_tokens: 0 } } },
    ...sayText(0, 'So.'),
    end('end_turn', { ...usage, output_tokens: 5 }),
    stop,
  ],
};

describe('a streamed message', () => {
  it.each(Object.entries(streams))('turnfold builds the same Anthropic message as the SDK from %s', async (_, body) => {
    await using server = await serveRaw({ body });
    const { client } = openAnthropic({ apiKey: KEY, baseUrl: server.url });
    const theirTexts: string[] = [];
    const theirs = await client.messages
      .stream(asked)
      .on('text', (text) => void theirTexts.push(text))
      .finalMessage();
    const texts: string[] = [];
    const counts: unknown[] = [];
    const reading = new MessageReading({
      onText: (text) => void texts.push(text),
      onUsage: (counted) => void counts.push(counted),
    });
    for await (const event of await client.messages.create({ ...asked, stream: true })) reading.add(event);
    const ours = reading.finish();
    expect(counts.at(-1), 'reported before the end').toEqual(ours.usage);
    expect(counts).toHaveLength(2);
    expect(texts).toEqual(theirTexts);
    expect(ours.stop_reason).toBe(theirs.stop_reason);
    expect(theirs.usage).toMatchObject(ours.usage);
    const items: unknown = JSON.parse(JSON.stringify(theirs.content));
    const { raw } = await connect('anthropic', server).generate(ask([user]));
    expect(raw).toEqual({ format: 'anthropic', model: 'model-1', prefix: expect.any(String), version: 0, items });
  });
});

const begun = [start, ...sayText(0, 'So.')];

it.each<[string, readonly (object | string)[]]>([
  ['an empty stream', []],
  ['only a ping', [{ type: 'ping' }]],
  ['events without a type', ['null', {}]],
  ['a stream without its end', begun],
  ['an end without a stop reason', [...begun, end(null), stop]],
  ['a stop reason without an end', [...begun, end()]],
  [
    'events whose contents are missing',
    [{ type: 'message_start' }, { type: 'content_block_start' }, { type: 'message_delta' }],
  ],
  [
    'a piece of a block that never started',
    [start, { type: 'content_block_delta', index: 4, delta: { type: 'text_delta', text: 'x' } }],
  ],
  ['an event whose JSON is cut off', [...begun, '{"type": "content_bl']],
])('an Anthropic model call fails with a `retry` error if the response is %s', async (_, body) => {
  await using server = await serveRaw({ body });
  const error = await failureOf(connect('anthropic', server).generate(ask([user])));
  expect(error).toMatchObject({ name: 'ModelError', kind: 'retry' });
});

it.each([
  ['overloaded_error', 'retry'],
  ['rate_limit_error', 'retry'],
  ['invalid_request_error', 'retry'],
  ['authentication_error', 'fatal'],
])(
  'an Anthropic model call fails if its stream ends with the error %s, and the error kind is `%s`',
  async (type, kind) => {
    const error = { type: 'error', error: { type, message: 'Not now.' } };
    await using server = await serveRaw({ body: [...begun, error] });
    expect(await failureOf(connect('anthropic', server).generate(ask([user])))).toMatchObject({ kind, code: type });
  },
);

it('an Anthropic answer without usage is accepted', async () => {
  const { usage: _, ...message } = start.message;
  await using server = await serveRaw({
    body: [{ ...start, message }, ...sayText(0, 'So.'), end('end_turn', {}), stop],
  });
  expect(await connect('anthropic', server).generate(ask([user]))).toMatchObject({ content: 'So.', end: 'complete' });
});
