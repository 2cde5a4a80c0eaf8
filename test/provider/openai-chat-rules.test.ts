import { describe, expect, it } from 'vitest';
import { postRaw } from './clients.ts';
import type { JsonObject } from './json.ts';
import { startProvider } from './provider.ts';
import type { Strictness } from './refusal.ts';

const user = (content: unknown): JsonObject => ({ role: 'user', content });
const call = (id: string, name = 'read', given: unknown = '{"path":"a"}'): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: given },
});
const assistant = (...calls: JsonObject[]): JsonObject => ({ role: 'assistant', content: null, tool_calls: calls });
const said = (content: unknown): JsonObject => ({ role: 'assistant', content });
const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'done' });
const tool = { type: 'function', function: { name: 'read', parameters: { type: 'object' } } };
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
const question = user('Look.');

function bodyOf(...messages: JsonObject[]): JsonObject {
  return { model: 'gpt-6-astra', tools: [tool], messages };
}

interface BrokenRule {
  readonly rule: string;
  readonly body: JsonObject;
  readonly words: string;
  readonly code?: string | null;
  readonly param?: string | null;
  readonly strict?: Partial<Strictness>;
}

const broken: readonly BrokenRule[] = [
  {
    rule: 'X5',
    body: bodyOf(),
    words: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    code: 'empty_array',
    param: 'messages',
  },
  {
    rule: 'X3',
    body: bodyOf(question, { role: 'assistant', content: 'Hi.', tool_calls: [] }, question),
    words: "Invalid 'messages[1].tool_calls': empty array.",
    code: 'empty_array',
    param: 'messages[1].tool_calls',
  },
  {
    rule: 'C3',
    body: bodyOf(question, said(null), question),
    words: "Invalid value for 'content': expected a string, got null.",
    code: null,
    param: 'messages.[1].content',
  },
  {
    rule: 'X3',
    body: bodyOf(question, said(''), question),
    words: "Invalid request: the message at position 1 with role 'assistant' must not be empty",
  },
  { rule: 'X3', body: bodyOf(user([{ type: 'text', text: ' ' }])), words: 'the message at position 0' },
  { rule: 'X3', body: bodyOf(user([])), words: "Invalid 'messages[0].content': empty array." },
  {
    rule: 'C1',
    body: bodyOf(question, assistant(call('a'), call('b')), result('a'), question, result('b')),
    words:
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
    param: 'messages.[3].role',
  },
  { rule: 'C1', body: bodyOf(question, assistant(call('a'))), words: 'did not have response messages: a' },
  {
    rule: 'C2',
    body: bodyOf(question, result('a')),
    words: "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    param: 'messages.[1].role',
  },
  {
    rule: 'C2',
    body: bodyOf(question, assistant(call('a')), result('a'), result('b')),
    words: "Invalid parameter: 'tool_call_id' of 'b' not found in 'tool_calls' of previous message.",
    param: 'messages.[3].tool_call_id',
  },
  {
    rule: 'X1',
    body: bodyOf(question, assistant(call('a')), result('a'), result('a')),
    words: "Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
  },
  {
    rule: 'X1',
    body: bodyOf(question, assistant(call('a')), result('a'), assistant(call('a')), result('a')),
    words: "Duplicate value for 'tool_call_id' of 'a', in messages[1] and messages[3].",
  },
  {
    rule: 'C4',
    body: bodyOf(question, assistant(call('a', 'read', { path: 'a' })), result('a')),
    words:
      "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
    code: 'invalid_type',
  },
  {
    rule: 'X7',
    body: bodyOf(question, assistant(call('a', 'read', '{"path":"a')), result('a')),
    words: "Invalid 'messages[1].tool_calls[0].function.arguments'",
  },
  {
    rule: 'X1',
    body: bodyOf(question, assistant(call('x'.repeat(41))), result('x'.repeat(41))),
    words: 'Expected a string with maximum length 40, but got a string with length 41 instead.',
    code: 'string_above_max_length',
  },
  {
    rule: 'X6',
    body: bodyOf(question, assistant(call('a', 'read file')), result('a')),
    words: "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
  },
  {
    rule: 'X6',
    body: bodyOf(question, assistant(call('a', 'x'.repeat(65))), result('a')),
    words: 'Expected a string with maximum length 64, but got a string with length 65 instead.',
    code: 'string_above_max_length',
  },
  {
    rule: 'X9',
    body: { ...bodyOf(question), tools: Array.from({ length: 129 }, () => ({ type: 'function' })) },
    words: "Invalid 'tools': array too long. Expected an array with maximum length 128",
    code: 'array_above_max_length',
  },
  {
    rule: 'X9',
    body: bodyOf(...Array.from({ length: 2_049 }, () => question)),
    words: "Invalid 'messages': array too long. Expected an array with maximum length 2048",
    code: 'array_above_max_length',
  },
  {
    rule: 'X6',
    body: { ...bodyOf(question), tools: [{ type: 'function', function: { name: 'read', parameters: {} } }] },
    words: `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`,
    code: 'invalid_function_parameters',
  },
  {
    rule: 'X6',
    body: {
      ...bodyOf(question),
      tools: [{ type: 'function', function: { name: 'read', parameters: { oneOf: [], type: 'object' } } }],
    },
    words: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    code: 'invalid_function_parameters',
  },
  {
    rule: 'C5',
    body: bodyOf(question, { role: 'system', content: 'Be brief.' }, question),
    words: 'System message must be at the beginning.',
  },
  { rule: 'X5', body: bodyOf({ role: 'system', content: 'Be brief.' }), words: 'No user query found in messages.' },
  { rule: 'X5', body: bodyOf(said('Hi.'), question), words: 'Conversation roles must alternate user/assistant/' },
  { rule: 'X4', body: bodyOf(question, said('So')), words: 'Expected last role User or Tool', code: '3230' },
  {
    rule: 'C5',
    body: bodyOf(question, question),
    words: 'conversation roles must alternate user and assistant roles except for tool calls and results.',
    strict: { hasStrictTemplate: true },
  },
  {
    rule: 'C5',
    body: bodyOf(
      question,
      assistant(call('a')),
      result('a'),
      said('So.'),
      question,
      assistant(call('b')),
      result('b'),
      question,
    ),
    words: 'conversation roles must alternate',
    strict: { hasStrictTemplate: true },
  },
  {
    rule: 'C6',
    body: bodyOf(question, assistant(call('a')), { ...result('a'), content: [image] }),
    words:
      "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
  },
  {
    rule: 'C7',
    body: bodyOf(question, assistant(call('a')), result('a')),
    words: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    code: 'invalid_request_error',
    strict: { needsReasoning: true },
  },
  { rule: 'X8', body: bodyOf(user('half \ud83d')), words: 'We could not parse the JSON body of your request.' },
  {
    rule: 'X9',
    body: bodyOf(user('long '.repeat(1000))),
    words: 'However, your messages resulted in 1259 tokens. Please reduce the length of the messages.',
    code: 'context_length_exceeded',
    param: 'messages',
    strict: { windowTokens: 1000 },
  },
  {
    rule: 'X9',
    body: { ...bodyOf(question), max_completion_tokens: 1000 },
    words: 'However, you requested 1010 tokens (10 in the messages, 1000 in the completion).',
    code: 'context_length_exceeded',
    strict: { windowTokens: 1000 },
  },
  {
    rule: 'request',
    body: { ...bodyOf(question), max_tokens: 100 },
    words: "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    code: 'unsupported_parameter',
  },
  {
    rule: 'request',
    body: bodyOf({ ...user('Hi.'), raw: {} }),
    words: "Unknown parameter: 'messages[0].raw'.",
    code: 'unknown_parameter',
  },
];

describe('refusals by servers of Chat Completions', () => {
  it.each(broken)(
    'the strict Chat Completions test server refuses a request that breaks wire rule $rule: $words',
    async ({ rule, body, words, code, param, strict = {} }) => {
      await using provider = await startProvider({ strict });
      const reply = await postRaw(provider, 'openai-chat', body);
      const { error } = JSON.parse(reply.text) as { error: { message: string; code: unknown; param: unknown } };
      expect(error.message).toContain(words);
      expect(reply.status).toBe(400);
      if (code !== undefined) expect(error.code).toBe(code);
      if (param !== undefined) expect(error.param).toBe(param);
      expect(provider.requests[0]?.refusal?.rule).toBe(rule);
    },
  );

  it('the strict Chat Completions test server answers a request that is too large with an HTML page', async () => {
    await using provider = await startProvider({ strict: { maxBytes: 100 } });
    expect(await postRaw(provider, 'openai-chat', bodyOf(question))).toMatchObject({
      status: 413,
      text: expect.stringContaining('<title>413 Request Entity Too Large</title>'),
    });
  });

  it.each([
    ['a system message and a user message', bodyOf({ role: 'system', content: 'Be brief.' }, question)],
    ['parallel results in any order', bodyOf(question, assistant(call('a'), call('b')), result('b'), result('a'))],
    ['two messages of one role in a row', bodyOf(question, question)],
    ['an image in a user message', bodyOf(user([image]))],
  ])('the strict Chat Completions test server accepts a request with %s', async (_name, body) => {
    await using provider = await startProvider({ answers: [{ text: 'Yes.' }] });
    expect(await postRaw(provider, 'openai-chat', body)).toMatchObject({ status: 200 });
  });

  it('the Chat Completions test server with a strict chat template accepts alternating roles', async () => {
    await using provider = await startProvider({ answers: [{ text: 'Yes.' }], strict: { hasStrictTemplate: true } });
    const body = bodyOf(question, assistant(call('a')), result('a'), said('So.'), question);
    expect(await postRaw(provider, 'openai-chat', body)).toMatchObject({ status: 200 });
  });
});
