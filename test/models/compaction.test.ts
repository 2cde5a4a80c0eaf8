import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { ModelError } from '../../src/domain/model.ts';
import { startProvider } from '../provider/provider.ts';
import type { Reply } from '../provider/script.ts';
import { ask, connect, PROFILE, READ } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const FORMATS = ['anthropic', 'openai-responses'] as const;

const SUMMARY: Reply = { parts: [{ compaction: 'They spoke of a.' }], usage: { input: 900, output: 9 } };
const history: readonly Message[] = [
  { role: 'user', content: 'Which files?' },
  { role: 'assistant', content: 'I look.', toolCalls: [{ id: 'call_1', name: 'read', arguments: '{"path":"a"}' }] },
  { role: 'tool', content: 'A', toolCallId: 'call_1' },
];

function goOn(raw: unknown): Message[] {
  const label = { from: 1, to: 3, version: 1 };
  return [
    { role: 'summary', content: 'In our words.', summary: label, raw },
    { role: 'user', content: 'Go on.' },
  ];
}

describe.each(FORMATS)('%s', (format) => {
  it(`the ${format} provider accepts its own compaction item in place of the messages`, async () => {
    await using provider = await startProvider({ answers: [SUMMARY, { text: 'On.' }] });
    const model = connect(format, provider);
    const { text, raw, usage } = (await model.compact?.(ask(history))) ?? {};
    expect(text).toBe(format === 'anthropic' ? 'They spoke of a.' : undefined);
    expect(usage).toMatchObject({ inputTotal: 900, output: 9, outputKept: 9 });
    const kept = format === 'openai-responses' ? [expect.objectContaining({ role: 'user' })] : [];
    const compaction = expect.objectContaining({ type: 'compaction' });
    expect(raw).toStrictEqual({ format, model: 'model-1', items: [...kept, compaction] });
    expect(await model.generate(ask(goOn(raw), { version: 1 }))).toMatchObject({ content: 'On.' });
    const sent = JSON.stringify(provider.requests[1]?.body);
    expect(sent).toContain('"compaction"');
    expect(sent).not.toContain('In our words.');
    expect(provider.requests.map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
  });

  it(`a compaction of a ${format} model says when the next call is allowed, if the rate limit is used up`, async () => {
    const headers = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '30s' };
    await using provider = await startProvider({ answers: [SUMMARY], headers });
    const before = Date.now();
    const compacted = await connect(format, provider).compact?.(ask(history));
    expect(compacted?.nextCallAt).toBeGreaterThanOrEqual(before + 30_000);
    expect(compacted?.nextCallAt).toBeLessThanOrEqual(Date.now() + 30_000);
  });

  it(`a ${format} model compacts a context that ends with an assistant message`, async () => {
    await using provider = await startProvider({ answers: [SUMMARY] });
    await connect(format, provider).compact?.(ask([...history, { role: 'assistant', content: 'One.' }]));
    expect(JSON.stringify(provider.requests[0]?.body)).toContain('One.');
  });

  it(`a ${format} model compacts a context that starts with the provider’s own compaction item`, async () => {
    await using provider = await startProvider({ answers: [SUMMARY, SUMMARY] });
    const model = connect(format, provider);
    const first = await model.compact?.(ask(history));
    expect(await model.compact?.(ask(goOn(first?.raw)))).toMatchObject({
      raw: { items: expect.arrayContaining([expect.objectContaining({ type: 'compaction' })]) },
    });
    expect(JSON.stringify(provider.requests[1]?.body)).toContain('"compaction"');
  });

  it(`a ${format} request has the text of the summary in place of a compaction item that another model wrote`, async () => {
    await using provider = await startProvider({ answers: [SUMMARY, { text: 'On.' }] });
    const compacted = await connect(format, provider).compact?.(ask(history));
    const other = connect(format, provider, { profile: { ...PROFILE, id: 'model-2' } });
    expect(await other.generate(ask(goOn(compacted?.raw)))).toMatchObject({ content: 'On.' });
    const sent = provider.requests[1];
    expect(JSON.stringify(sent?.body)).toContain('In our words.');
    expect(JSON.stringify(sent?.body)).not.toContain('"compaction"');
    expect(sent?.headers).not.toHaveProperty('anthropic-beta');
  });

  it.each([
    ['overflow', 'overflow'],
    ['rate_limit', 'retry'],
    ['overloaded', 'retry'],
    ['invalid', 'invalid'],
    ['unauthorized', 'fatal'],
  ] as const)(
    `model.compact fails for ${format} if the provider returns the error %s, and the error kind is %s`,
    async (fault, kind) => {
      await using provider = await startProvider({ answers: [{ fault }] });
      const error = await failureOf(Promise.resolve(connect(format, provider).compact?.(ask(history))));
      expect(error).toBeInstanceOf(ModelError);
      expect(error.kind).toBe(kind);
    },
  );

  it.each([
    ['an HTML page', { fault: 'garbage', as: 'page' }],
    ['unrelated JSON', { fault: 'garbage', as: 'json' }],
    ['a lost connection', { fault: 'reset' }],
    ['a stream that is cut off', { fault: 'cut', answer: { parts: [{ compaction: 'Half.' }] } }],
  ] as const)(
    `model.compact fails for ${format} with an error of the kind retry if the response is %s`,
    async (_, fault) => {
      await using provider = await startProvider({ answers: [fault] });
      const error = await failureOf(Promise.resolve(connect(format, provider).compact?.(ask(history))));
      expect(error).toBeInstanceOf(ModelError);
      expect(error.kind).toBe('retry');
    },
  );

  it(`model.compact throws for ${format} as soon as its signal aborts`, async () => {
    await using provider = await startProvider({ answers: [{ fault: 'hang' }] });
    const stop = new AbortController();
    const asked = Promise.resolve(connect(format, provider).compact?.(ask(history, { signal: stop.signal })));
    const failed = failureOf(asked);
    await expect.poll(() => provider.requests.length).toBe(1);
    stop.abort(new Error('the pass is over'));
    expect(await failed).toMatchObject({ message: 'the pass is over' });
  });

  it(`a ${format} model sends no compaction request that exceeds the provider’s byte limit`, async () => {
    await using provider = await startProvider();
    const large = connect(format, provider, { profile: { ...PROFILE, maxRequestBytes: 100 } });
    const error = await failureOf(Promise.resolve(large.compact?.(ask(history))));
    expect(error).toMatchObject({ kind: 'overflow', code: 'X9' });
  });
});

it('an Anthropic compaction request starts like an ordinary request, so that it uses the prompt cache', async () => {
  await using provider = await startProvider({ answers: [{ text: 'Two.' }, SUMMARY] });
  const model = connect('anthropic', provider);
  await model.generate(ask(history));
  await model.compact?.(ask(history));
  const [said, compacted] = provider.requests.map(({ body }) => body);
  expect(compacted).toStrictEqual({ ...said, compaction: { type: 'summarize' } });
  expect(provider.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual([undefined, 'compact-2026-09-04']);
});

it('a Responses API compaction request has only the fields that its endpoint accepts', async () => {
  await using provider = await startProvider({ answers: [SUMMARY] });
  await connect('openai-responses', provider).compact?.(ask(history, { tools: [READ] }));
  expect(Object.keys(provider.requests[0]?.body ?? {}).toSorted()).toEqual(['input', 'instructions', 'model']);
});

it.each([
  ['cut_off', 'max_tokens'],
  ['refusal', 'refusal'],
  ['complete', 'end_turn'],
] as const)(
  'model.compact fails for Anthropic if the provider returns a %s answer instead of a compaction item',
  async (end, code) => {
    await using provider = await startProvider({ answers: [{ text: 'So', end, usage: { input: 900, output: 9 } }] });
    const error = await failureOf(Promise.resolve(connect('anthropic', provider).compact?.(ask(history))));
    expect(error).toMatchObject({ kind: 'fatal', code, usage: { inputTotal: 900, output: 9 } });
  },
);

const START = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  content: [],
  stop_reason: null,
  usage: { input_tokens: 2, output_tokens: 1 },
};

function compactionEvents(content: string | null, usage: object): object[] {
  const block = { type: 'compaction', content: null, encrypted_content: null, signature: 'S' };
  return [
    { type: 'message_start', message: START },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content, encrypted_content: 'E' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'compaction' }, usage },
    { type: 'message_stop' },
  ];
}

it('model.compact fails for Anthropic if the provider returns a compaction item without content', async () => {
  const iterations = [{ type: 'compaction', input_tokens: 700, output_tokens: 50 }];
  await using server = await serveRaw({ body: compactionEvents(null, { output_tokens: 1, iterations }) });
  const error = await failureOf(Promise.resolve(connect('anthropic', server).compact?.(ask(history))));
  expect(error).toMatchObject({ kind: 'fatal', code: 'no_compaction', usage: { inputTotal: 702, output: 51 } });
});

it('model.compact returns Anthropic’s compaction block unchanged, and counts the tokens of the compaction in the usage', async () => {
  const iterations = [
    { type: 'message', input_tokens: 2, output_tokens: 1 },
    { type: 'compaction', input_tokens: 700, cache_read_input_tokens: 200, output_tokens: 50 },
  ];
  await using server = await serveRaw({ body: compactionEvents('All.', { output_tokens: 1, iterations }) });
  const compacted = await connect('anthropic', server).compact?.(ask(history));
  expect(compacted).toMatchObject({
    usage: { inputTotal: 902, cachedInput: 200, output: 51 },
    raw: { items: [{ type: 'compaction', content: 'All.', encrypted_content: 'E', signature: 'S' }] },
  });
});

it('model.compact fails for the Responses API if the response has no compaction item', async () => {
  const usage = { input_tokens: 900, output_tokens: 9 };
  await using server = await serveRaw({ body: { object: 'response.compaction', output: [], usage } });
  const error = await failureOf(Promise.resolve(connect('openai-responses', server).compact?.(ask(history))));
  expect(error).toMatchObject({ kind: 'fatal', code: 'no_compaction', usage: { inputTotal: 900, output: 9 } });
});

it('a Chat Completions model has no method `compact`', () => {
  expect(connect('openai-chat', { url: 'http://127.0.0.1:9' })).not.toHaveProperty('compact');
});
