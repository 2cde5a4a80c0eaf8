import { describe, expect, it } from 'vitest';
import { postRaw } from './clients.ts';
import type { JsonObject } from './json.ts';
import { startProvider } from './provider.ts';
import type { Strictness } from './refusal.ts';

const user = (content: unknown): JsonObject => ({ role: 'user', content });
const said = (text: string, id?: string): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
  ...(id === undefined ? {} : { id }),
});
const call = (callId: string, more: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  call_id: callId,
  name: 'read',
  arguments: '{}',
  ...more,
});
const output = (callId: string, result: unknown = 'done'): JsonObject => ({
  type: 'function_call_output',
  call_id: callId,
  output: result,
});
const reasoning = (id: string): JsonObject => ({ type: 'reasoning', id, summary: [], encrypted_content: 'gAAAAA' });
const question = user('Look.');

function bodyOf(...input: JsonObject[]): JsonObject {
  return {
    model: 'gpt-6-astra',
    store: false,
    tools: [{ type: 'function', name: 'read', parameters: { type: 'object' } }],
    input,
  };
}

interface BrokenRule {
  readonly rule: string;
  readonly body: JsonObject;
  readonly words: string;
  readonly code?: string | null;
  readonly status?: number;
  readonly strict?: Partial<Strictness>;
}

const unchecked = { signatures: 'unchecked' } as const;

const broken: readonly BrokenRule[] = [
  { rule: 'X5', body: bodyOf(), words: "One of 'input' or 'previous_response_id'" },
  { rule: 'X5', body: bodyOf(said('Hi.'), question), words: "the first message must be the user's" },
  { rule: 'X4', body: bodyOf(question, said('So.')), words: 'nothing to answer after the last item' },
  {
    rule: 'R1',
    body: bodyOf(question, call('a'), question),
    words: 'No tool output found for function call a.',
    code: null,
  },
  {
    rule: 'R1',
    body: bodyOf(question, output('a')),
    words: 'No tool call found for function call output with call_id a.',
  },
  {
    rule: 'R1',
    body: bodyOf(question, output('a'), call('a')),
    words: 'No tool call found for function call output with call_id a.',
  },
  {
    rule: 'X1',
    body: bodyOf(question, call('a'), output('a'), output('a')),
    words: "Duplicate call_ids submitted: ['a', 'a']",
  },
  {
    rule: 'X1',
    body: bodyOf(question, call('a'), output('a'), call('a'), output('a')),
    words: "Duplicate call_ids submitted: ['a', 'a']",
  },
  {
    rule: 'R1',
    body: bodyOf(question, call('a'.repeat(65)), output('a'.repeat(65))),
    words: "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64",
    code: 'string_above_max_length',
  },
  {
    rule: 'R2',
    body: bodyOf(question, reasoning('rs_1'), question),
    words: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    strict: unchecked,
  },
  {
    rule: 'R4',
    body: bodyOf(question, reasoning('rs_1'), reasoning('rs_2'), said('So.'), question),
    words: "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    strict: unchecked,
  },
  {
    rule: 'R6',
    body: bodyOf(question, reasoning('rs_1'), said('So.'), question),
    words: 'The encrypted content for item rs_1 could not be verified.',
    code: 'invalid_encrypted_content',
  },
  {
    rule: 'R6',
    body: bodyOf(question, { ...reasoning('rs_1'), encrypted_content: null }, said('So.'), question),
    words: "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
    status: 404,
    strict: unchecked,
  },
  {
    rule: 'R7',
    body: { ...bodyOf(question), previous_response_id: 'resp_1' },
    words: "Previous response with id 'resp_1' not found.",
    code: 'previous_response_not_found',
  },
  {
    rule: 'R8',
    body: bodyOf({ type: 'compaction', encrypted_content: 'gAAAAA' }, question),
    words: 'could not be verified',
    code: 'invalid_encrypted_content',
  },
  {
    rule: 'R9',
    body: bodyOf(question, said('So.', 'msg_1'), question, said('So.', 'msg_1'), question),
    words: 'Duplicate item found with id msg_1. Remove duplicate items from your input and try again.',
  },
  {
    rule: 'R9',
    body: bodyOf(question, call('a', { id: 'call_1' }), output('a')),
    words: "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
    code: 'invalid_value',
  },
  {
    rule: 'R9',
    body: bodyOf(question, call('a', { id: 'fc_1|2' }), output('a')),
    words: 'Expected an ID that contains letters, numbers, underscores, or dashes',
  },
  { rule: 'X3', body: bodyOf(user([])), words: "Invalid 'input[0].content': empty array." },
  { rule: 'X3', body: bodyOf(user(' ')), words: "Invalid 'input[0].content': empty string." },
  { rule: 'X3', body: bodyOf(question, call('a'), output('a', '')), words: "Invalid 'input[2].output': empty string." },
  {
    rule: 'X7',
    body: bodyOf(question, call('a', { arguments: '{"path' }), output('a')),
    words: "Invalid 'input[1].arguments'",
  },
  {
    rule: 'X7',
    body: bodyOf(question, call('a', { arguments: {} }), output('a')),
    words: "Invalid type for 'input[1].arguments': expected a string, but got an object instead.",
  },
  {
    rule: 'request',
    body: bodyOf(question, { role: 'assistant', content: [{ type: 'input_text', text: 'So.' }] }, question),
    words: "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
    code: 'invalid_value',
  },
  {
    rule: 'request',
    body: bodyOf(question, call('a', { parsed_arguments: {} }), output('a')),
    words: "Unknown parameter: 'input[1].parsed_arguments'.",
    code: 'unknown_parameter',
  },
  {
    rule: 'request',
    body: { ...bodyOf(question), max_output_tokens: 5 },
    words: 'Expected a value >= 16, but got 5 instead.',
  },
  {
    rule: 'request',
    body: { ...bodyOf(question), messages: [] },
    words: "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'.",
  },
  { rule: 'X8', body: bodyOf(user('half \ud83d')), words: 'We could not parse the JSON body of your request.' },
  {
    rule: 'X9',
    body: bodyOf(user('long '.repeat(1000))),
    words: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    code: 'context_length_exceeded',
    strict: { windowTokens: 1000 },
  },
];

describe('refusals by the Responses API', () => {
  it.each(broken)(
    'the strict Responses test server refuses a request that breaks wire rule $rule: $words',
    async ({ rule, body, words, code, status = 400, strict = {} }) => {
      await using provider = await startProvider({ strict });
      const reply = await postRaw(provider, 'openai-responses', body);
      const { error } = JSON.parse(reply.text) as { error: { message: string; code: unknown } };
      expect(error.message).toContain(words);
      expect(reply.status).toBe(status);
      if (code !== undefined) expect(error.code).toBe(code);
      expect(provider.requests[0]?.refusal?.rule).toBe(rule);
    },
  );

  it.each([
    ['an input that is a string', { ...bodyOf(), input: 'Look.' }],
    ['parallel calls', bodyOf(question, call('a'), call('b'), output('b'), output('a'))],
    [
      'a developer message in the middle',
      bodyOf(question, said('So.', 'msg_1'), { role: 'developer', content: 'Be brief.' }, question),
    ],
    ['an image in an output', bodyOf(question, call('a'), output('a', [{ type: 'input_image', image_url: 'data:,' }]))],
  ])('the strict Responses test server accepts a request with %s', async (_name, body) => {
    await using provider = await startProvider({ answers: [{ text: 'Yes.' }] });
    expect(await postRaw(provider, 'openai-responses', body)).toMatchObject({ status: 200 });
  });

  it('the strict Responses test server requires the pairs of reasoning and item that it has issued (wire rules R2, R3)', async () => {
    const pair = [reasoning('rs_1'), call('a', { id: 'fc_1' }), call('b', { id: 'fc_2' })];
    const outputs = [output('a'), output('b')];
    await using provider = await startProvider({ answers: () => ({ text: 'Yes.' }), strict: unchecked });
    provider.remember(pair);
    const without = bodyOf(question, ...pair.slice(1), ...outputs);
    expect(await postRaw(provider, 'openai-responses', without)).toMatchObject({
      status: 400,
      text: expect.stringContaining(
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
      ),
    });
    const swapped = bodyOf(question, pair[0]!, pair[2]!, pair[1]!, ...outputs);
    expect((await postRaw(provider, 'openai-responses', swapped)).text).toContain(
      'without its required following item',
    );
    const stripped = bodyOf(question, call('a'), call('b'), ...outputs);
    expect(await postRaw(provider, 'openai-responses', stripped)).toMatchObject({ status: 200 });
    expect(await postRaw(provider, 'openai-responses', bodyOf(question, ...pair, ...outputs))).toMatchObject({
      status: 200,
    });
  });
});
