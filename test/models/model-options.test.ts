import { expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { ModelOptions } from '../../src/domain/model-options.ts';
import { resolveModel } from '../../src/host/resolve-model.ts';
import { anthropicModel } from '../../src/providers/anthropic/anthropic-model.ts';
import { CATALOGUE } from '../../src/providers/catalogue/catalogue.ts';
import { chatModel } from '../../src/providers/openai/chat-model.ts';
import { responsesModel } from '../../src/providers/openai/responses-model.ts';
import { errorOf } from '../domain/error-of.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, KEY, READ } from './fixture.ts';

const question: Message = { role: 'user', content: 'Read it.' };
const round: Message[] = [
  question,
  { role: 'assistant', content: '', toolCalls: [{ id: 'c2_0', name: READ.name, arguments: '{}' }] },
  { role: 'tool', content: 'text', toolCallId: 'c2_0' },
];

type Format = 'anthropic' | 'chat' | 'responses';

function create(format: Format, name: string, options: ModelOptions, url = 'http://127.0.0.1:9') {
  const profile = { ...(CATALOGUE.get(name) ?? missing(name)), id: name.replace(/^.*\//, '') };
  const given = { profile, apiKey: KEY, ...options };
  if (format === 'anthropic') return anthropicModel({ ...given, baseUrl: url });
  return (format === 'chat' ? chatModel : responsesModel)({ ...given, baseUrl: `${url}/v1` });
}

function missing(name: string): never {
  throw new Error(`the catalogue has no ${name}`);
}

/** Sends one request and returns its body and headers. */
async function send(
  format: Format,
  name: string,
  options: ModelOptions,
  { messages = [question], ...asked }: { readonly messages?: Message[] } & Partial<Parameters<typeof ask>[1]> = {},
) {
  await using provider = await startProvider({ answers: [{ text: 'Done.' }], strict: false });
  await create(format, name, options, provider.url).generate(ask(messages, { tools: [READ], ...asked }));
  const [request] = provider.requests;
  return { body: request?.body ?? {}, headers: request?.headers ?? {} };
}

const sent: readonly [string, Format, string, ModelOptions, object][] = [
  [
    'adaptive thinking with its display',
    'anthropic',
    'anthropic/claude-opus-5-5',
    { thinking: { type: 'adaptive', display: 'summarized' } },
    { thinking: { type: 'adaptive', display: 'summarized' } },
  ],
  [
    'thinking off, where the model thinks by default',
    'anthropic',
    'anthropic/claude-opus-5',
    { thinking: { type: 'off' } },
    { thinking: { type: 'disabled' } },
  ],
  [
    'thinking between tools',
    'anthropic',
    'anthropic/claude-sonnet-5-5',
    { thinking: { type: 'between_tools' } },
    { thinking: { type: 'between_tools' } },
  ],
  [
    'a thinking budget',
    'anthropic',
    'anthropic/claude-haiku-4-5',
    { thinking: { type: 'budget', budgetTokens: 2_048 } },
    { thinking: { type: 'enabled', budget_tokens: 2_048 } },
  ],
  ['effort', 'anthropic', 'anthropic/claude-fable-5-2', { effort: 'max' }, { output_config: { effort: 'max' } }],
  [
    'sampling and stop texts',
    'anthropic',
    'anthropic/claude-haiku-4-5',
    { temperature: 0.2, topP: 0.9, stop: ['END'] },
    { temperature: 0.2, top_p: 0.9, stop_sequences: ['END'] },
  ],
  [
    'an output cap and a tier',
    'anthropic',
    'anthropic/claude-opus-5-5',
    { maxOutputTokens: 900, serviceTier: 'standard_only' },
    { max_tokens: 900, service_tier: 'standard_only' },
  ],
  [
    'a forced tool',
    'anthropic',
    'anthropic/claude-haiku-4-5',
    { toolChoice: { tool: 'read' } },
    { tool_choice: { type: 'tool', name: 'read' } },
  ],
  ['no tools', 'anthropic', 'anthropic/claude-opus-5-5', { toolChoice: 'none' }, { tool_choice: { type: 'none' } }],
  [
    'effort and a readable summary',
    'responses',
    'openai/gpt-6.1-sol',
    { effort: 'xhigh', thinking: { type: 'adaptive', display: 'summarized' } },
    { reasoning: { effort: 'xhigh', summary: 'auto' } },
  ],
  [
    'reasoning off',
    'responses',
    'openai/gpt-6-sol',
    { thinking: { type: 'off' }, temperature: 0.1 },
    { reasoning: { effort: 'none' }, temperature: 0.1 },
  ],
  [
    'a forced tool',
    'responses',
    'openai/gpt-6-sol',
    { toolChoice: { tool: 'read' } },
    { tool_choice: { type: 'function', name: 'read' } },
  ],
  [
    'an output cap and a tier',
    'responses',
    'openai/gpt-6-sol',
    { maxOutputTokens: 900, serviceTier: 'flex' },
    { max_output_tokens: 900, service_tier: 'flex' },
  ],
  [
    'sampling and stop texts',
    'chat',
    'openai/gpt-4.1',
    { temperature: 0, topP: 0.5, stop: ['END'], toolChoice: 'required' },
    { temperature: 0, top_p: 0.5, stop: ['END'], tool_choice: 'required' },
  ],
  [
    'the name of the output cap',
    'chat',
    'openai/gpt-4.1',
    { maxOutputTokens: 900, outputCapField: 'max_tokens' },
    { max_tokens: 900 },
  ],
  ['tools without reasoning', 'chat', 'openai/gpt-5.6-terra', {}, { reasoning_effort: 'none' }],
];

test.each(sent)('a model sends %s in the provider’s request (%s, %s)', async (...row) => {
  const [, format, name, options, expected] = row;
  const { body } = await send(format, name, options);
  expect(body).toMatchObject(expected);
});

test.each<[Format, string]>([
  ['anthropic', 'anthropic/claude-opus-5-5'],
  ['responses', 'openai/gpt-6.1-sol'],
  ['chat', 'openai/gpt-4.1'],
])('a request has no fields for options that are not set (%s, %s)', async (format, name) => {
  const { body } = await send(format, name, {});
  const asked = ['thinking', 'output_config', 'reasoning', 'reasoning_effort', 'temperature', 'top_p', 'tool_choice'];
  expect(Object.keys(body).filter((field) => asked.includes(field))).toEqual([]);
});

test.each<[Format, string]>([
  ['anthropic', 'anthropic/claude-haiku-4-5'],
  ['responses', 'openai/gpt-6-sol'],
  ['chat', 'openai/gpt-4.1'],
])(
  'a request forces a tool call only in answer to a message, not after tool results or in a summary (%s)',
  async (format, name) => {
    const { body } = await send(format, name, { toolChoice: 'required' }, { messages: round });
    expect(body).not.toHaveProperty('tool_choice');
    const { body: summary } = await send(format, name, { toolChoice: 'required' }, { isSummary: true });
    expect(summary).not.toHaveProperty('tool_choice');
    const { body: toolless } = await send(format, name, { toolChoice: 'required' }, { tools: [] });
    expect(toolless).not.toHaveProperty('tool_choice');
  },
);

test.each<[Format, string]>([
  ['anthropic', 'anthropic/claude-opus-5-5'],
  ['responses', 'openai/gpt-6.1-sol'],
  ['chat', 'openai/gpt-4.1'],
])('a request contains the extra fields and headers of the model’s options (%s)', async (format, name) => {
  const { body, headers } = await send(format, name, {
    extraBody: { metadata: { team: 'x' } },
    extraHeaders: { 'X-Team': 'x', 'Anthropic-Beta': 'own-2026' },
  });
  expect(body).toMatchObject({ metadata: { team: 'x' } });
  expect(headers).toMatchObject({ 'x-team': 'x', 'anthropic-beta': 'own-2026' });
});

test('a Chat Completions request has no stream options if the model’s options switch them off', async () => {
  expect((await send('chat', 'openai/gpt-4.1', { streamOptions: false })).body).not.toHaveProperty('stream_options');
  expect((await send('chat', 'openai/gpt-4.1', {})).body).toHaveProperty('stream_options');
});

test('an Anthropic request switches default thinking off while the open tool loop has lost its thinking', async () => {
  const raw = {
    format: 'anthropic',
    model: 'claude-opus-5',
    prefix: 'another',
    items: [
      { type: 'thinking', thinking: 'Hm.', signature: 'signed' },
      { type: 'tool_use', id: 'c2_0', name: READ.name, input: {} },
    ],
  };
  const messages = round.map((message) => (message.role === 'assistant' ? { ...message, raw } : message));
  const { body } = await send('anthropic', 'anthropic/claude-opus-5', { effort: 'max' }, { messages });
  expect(body).toMatchObject({ thinking: { type: 'disabled' }, output_config: { effort: 'high' } });
  const always = messages.map((message) =>
    message.role === 'assistant' ? { ...message, raw: { ...raw, model: 'claude-opus-5-5' } } : message,
  );
  expect((await send('anthropic', 'anthropic/claude-opus-5-5', {}, { messages: always })).body).not.toHaveProperty(
    'thinking',
  );
});

test.each<[string, number | undefined, 'required' | undefined, object | undefined]>([
  ['a limit below the budget', 3_000, undefined, { type: 'enabled', budget_tokens: 1_500 }],
  ['a limit that leaves no budget', 1_024, undefined, undefined],
  ['a forced tool call', undefined, 'required', undefined],
])('the Anthropic API accepts %s of a turn, whatever thinking the model has', async (...row) => {
  const [, maxOutputTokens, toolChoice, thinking] = row;
  await using provider = await startProvider({ answers: [{ text: 'Done.' }, { text: 'Done.' }] });
  const budget = { thinking: { type: 'budget', budgetTokens: 8_000 } } as const;
  const asked = { tools: [READ], ...(maxOutputTokens && { maxOutputTokens }), ...(toolChoice && { toolChoice }) };
  await create('anthropic', 'anthropic/claude-haiku-4-5', budget, provider.url).generate(ask([question], asked));
  expect(provider.requests[0]?.body['thinking']).toEqual(thinking);
  await create('anthropic', 'anthropic/claude-opus-5', {}, provider.url).generate(ask([question], asked));
  expect(provider.requests[1]?.body['thinking']).toEqual(toolChoice && { type: 'disabled' });
});

const refused: readonly [Format, string, object, string, string][] = [
  ['anthropic', 'anthropic/claude-opus-5-5', { thinking: { type: 'off' } }, 'thinking.type', 'It accepts adaptive'],
  [
    'anthropic',
    'anthropic/claude-sonnet-5',
    { thinking: { type: 'budget', budgetTokens: 2_000 } },
    'thinking.type',
    'adaptive, off',
  ],
  [
    'anthropic',
    'anthropic/claude-haiku-4-5',
    { thinking: { type: 'budget', budgetTokens: 9 } },
    'thinking.budgetTokens',
    '1024',
  ],
  [
    'anthropic',
    'anthropic/claude-haiku-4-5',
    { thinking: { type: 'budget', budgetTokens: 64_000 } },
    'thinking.budgetTokens',
    'less than',
  ],
  ['anthropic', 'anthropic/claude-haiku-4-5', { effort: 'low' }, 'effort', 'no such option'],
  ['anthropic', 'anthropic/claude-haiku-5-5', { thinking: { type: 'off' }, effort: 'max' }, 'effort', 'at most high'],
  [
    'anthropic',
    'anthropic/claude-sonnet-5-5',
    { thinking: { type: 'between_tools' }, effort: 'xhigh' },
    'effort',
    'at most high',
  ],
  ['anthropic', 'anthropic/claude-opus-5-5', { effort: 'none' }, 'effort', 'Set thinking'],
  ['anthropic', 'anthropic/claude-opus-5-5', { temperature: 1.5 }, 'temperature', 'Remove it'],
  ['anthropic', 'anthropic/claude-opus-4-6', { thinking: { type: 'adaptive' }, topP: 0.5 }, 'topP', 'does not think'],
  ['anthropic', 'anthropic/claude-opus-5-5', { toolChoice: 'required' }, 'toolChoice', 'Use auto or none'],
  ['anthropic', 'anthropic/claude-opus-5', { toolChoice: 'required' }, 'toolChoice', 'Set thinking'],
  ['anthropic', 'anthropic/claude-opus-5', { serviceTier: 'flex' }, 'serviceTier', 'standard_only'],
  ['anthropic', 'anthropic/claude-opus-5', { maxOutputTokens: 128_001 }, 'maxOutputTokens', '128000'],
  ['anthropic', 'anthropic/claude-opus-5', { outputCapField: 'max_tokens' }, 'outputCapField', 'openai-chat'],
  ['responses', 'openai/gpt-6.1-sol', { effort: 'none' }, 'effort', 'low, medium'],
  ['responses', 'openai/gpt-6.1-sol', { thinking: { type: 'off' } }, 'thinking.type', 'cannot turn reasoning off'],
  ['responses', 'openai/gpt-6-sol', { thinking: { type: 'budget', budgetTokens: 2_000 } }, 'thinking.type', 'effort'],
  ['responses', 'openai/gpt-6-sol', { thinking: { type: 'off' }, effort: 'high' }, 'effort', 'contradicts'],
  ['responses', 'openai/gpt-6-sol', { temperature: 0 }, 'temperature', 'does not think'],
  ['responses', 'openai/gpt-6-sol', { stop: ['END'] }, 'stop', 'openai-chat'],
  ['responses', 'openai/gpt-4.1', { effort: 'low' }, 'effort', 'no such option'],
  ['chat', 'openai/gpt-5.6', { effort: 'max' }, 'effort', 'openai/gpt-5.6'],
  ['chat', 'openai/gpt-4.1', { extraBody: { messages: [] } }, 'extraBody', 'itself'],
  ['chat', 'openai/gpt-4.1', { extraHeaders: { Host: 'x' } }, 'extraHeaders', 'itself'],
  ['chat', 'openai/gpt-4.1', { extraHeaders: { x: 'a\r\nb' } }, 'extraHeaders.x', 'line breaks'],
  ['chat', 'openai/gpt-4.1', { toolChoice: 'sometimes' }, 'toolChoice', "'required'"],
  ['chat', 'openai/gpt-4.1', { unknown: 1 }, 'unknown', ''],
];

test.each(refused)('creating a model with an option that this model does not support fails (%s, %s, %j)', (...row) => {
  const [format, name, options, field, says] = row;
  const error = errorOf(() => create(format, name, options));
  expect(error).toMatchObject({ code: 'invalid_config', field });
  expect(error.message).toContain(says);
});

test.each([
  ['openai/gpt-6.1-sol', {}],
  ['openai/gpt-5.6', { effort: 'low' }],
] as const)(
  'the model %s with tools fails over Chat Completions, and its error code and message point to the Responses API',
  async (name, options) => {
    const model = create('chat', name, options);
    const failed = model.generate(ask([question]));
    await expect(failed).rejects.toMatchObject({ kind: 'fatal', code: 'tools_need_responses' });
    await expect(failed).rejects.toThrow(`Use ${name}, the Responses API`);
  },
);

const answerSchema = { schema: { type: 'object', properties: {}, additionalProperties: false }, isStrict: true };
const { schema } = answerSchema;

test.each<[Format, string, object]>([
  [
    'anthropic',
    'anthropic/claude-opus-5-5',
    { output_config: { effort: 'low', format: { type: 'json_schema', schema } } },
  ],
  [
    'responses',
    'openai/gpt-6-sol',
    { text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } } },
  ],
  [
    'chat',
    'openai/gpt-4.1',
    { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } },
  ],
])('a request contains the schema of the final answer in the provider’s form (%s)', async (format, name, expected) => {
  await using provider = await startProvider({ answers: [{ text: '{}' }], strict: false });
  const options = format === 'anthropic' ? { effort: 'low' as const } : {};
  await create(format, name, options, provider.url).generate(ask([question], { answerSchema }));
  expect(provider.requests[0]?.body).toMatchObject(expected);
});

test('a request contains no answer schema if the server is not known to accept schemas', async () => {
  await using provider = await startProvider({ answers: [{ text: '{}' }], strict: false });
  await create('chat', 'deepseek/deepseek-v4-pro', {}, provider.url).generate(ask([question], { answerSchema }));
  expect(provider.requests[0]?.body).not.toHaveProperty('response_format');
});

test('each API key of a model has its own rate-limit gate by default, and the gate’s name does not contain the key', () => {
  const gates = ['sk-one', 'sk-two', 'sk-one'].map(
    (apiKey) => resolveModel('anthropic/claude-sonnet-4-5', { apiKey }).gate,
  );
  const [one, two, again] = gates.map((gate) => gate?.name);
  expect(one).toMatch(/^claude-sonnet-4-5@[0-9a-f]{8}$/);
  expect(two).not.toBe(one);
  expect(again).toBe(one);
  const limits = { name: 'account', requestsPerMinute: 60 };
  expect(resolveModel('openai-chat/gpt-4o', { apiKey: 'sk-one', gate: limits }).gate).toEqual(limits);
});
