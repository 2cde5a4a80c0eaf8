import { describe, expect, it } from 'vitest';
import { postRaw } from './clients.ts';
import type { JsonObject } from './json.ts';
import { startProvider } from './provider.ts';
import type { Strictness } from './refusal.ts';

const text = (said: string): JsonObject => ({ type: 'text', text: said });
const use = (id: string, name = 'read'): JsonObject => ({ type: 'tool_use', id, name, input: { path: 'a' } });
const result = (id: string): JsonObject => ({ type: 'tool_result', tool_use_id: id, content: [text('done')] });
const user = (...content: JsonObject[]): JsonObject => ({ role: 'user', content });
const assistant = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content });
const tool = { name: 'read', description: 'Reads.', input_schema: { type: 'object' } };

function bodyOf(...messages: JsonObject[]): JsonObject {
  return { model: 'claude-opus-5-5', max_tokens: 4096, tools: [tool], messages };
}

const question = user(text('Look.'));
const round = [
  question,
  assistant(text('Reading.'), use('toolu_1'), use('toolu_2')),
  user(result('toolu_1'), result('toolu_2')),
];
const picture = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } };
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'EqForeign' };
const marked = (said: string): JsonObject => ({ ...text(said), cache_control: { type: 'ephemeral' } });
const summary = { type: 'compaction', content: 'Before.', signature: 'EqForeign' };
const enabled = { type: 'enabled', budget_tokens: 2048 };

interface BrokenRule {
  readonly rule: string;
  readonly body: JsonObject;
  readonly words: string;
  readonly strict?: Partial<Strictness>;
  readonly status?: number;
}

const unchecked = { signatures: 'unchecked' } as const;

const broken: readonly BrokenRule[] = [
  { rule: 'X5', body: bodyOf(), words: 'messages: at least one message is required' },
  {
    rule: 'A1',
    body: bodyOf({ role: 'system', content: 'Be brief.' }, question),
    words: 'The Messages API accepts a top-level `system` parameter',
  },
  {
    rule: 'A2',
    body: bodyOf(assistant(text('Hi.')), question),
    words: 'messages: first message must use the "user" role',
  },
  {
    rule: 'A3',
    body: bodyOf(question, question),
    words: 'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
  },
  {
    rule: 'X3',
    body: bodyOf(question, assistant(), question),
    words: 'messages.1: all messages must have non-empty content except for the optional final assistant message',
  },
  { rule: 'A6', body: bodyOf(user(text(''))), words: 'messages: text content blocks must be non-empty' },
  {
    rule: 'A6',
    body: bodyOf(user(text(' \n'))),
    words: 'messages: text content blocks must contain non-whitespace text',
  },
  {
    rule: 'A6',
    body: { ...bodyOf(question), system: [text('')] },
    words: 'system: text content blocks must be non-empty',
  },
  {
    rule: 'A6',
    body: bodyOf(question, assistant(use('a')), user({ ...result('a'), content: [] })),
    words: 'messages: text content blocks must be non-empty',
  },
  {
    rule: 'A6',
    body: bodyOf(question, assistant(text('So '))),
    words: 'messages: final assistant content cannot end with trailing whitespace',
  },
  {
    rule: 'X4',
    body: bodyOf(question, assistant(text('So'))),
    words: 'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
  { rule: 'X8', body: bodyOf(user(text('half \ud83d'))), words: 'no low surrogate in string' },
  {
    rule: 'request',
    body: bodyOf(user({ ...text('Hi.'), parsed_output: null })),
    words: 'messages.0.content.0.text.parsed_output: Extra inputs are not permitted',
  },
  {
    rule: 'request',
    body: bodyOf(user({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AA==' } })),
    words: "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg'",
  },
  {
    rule: 'A4',
    body: bodyOf(...round.slice(0, 2), user(result('toolu_1'))),
    words:
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  },
  {
    rule: 'A4',
    body: bodyOf(...round.slice(0, 2), user(result('toolu_1'), text('Also:'), result('toolu_2'))),
    words: 'immediately after: toolu_2.',
  },
  { rule: 'A4', body: bodyOf(...round.slice(0, 2)), words: 'immediately after: toolu_1, toolu_2.' },
  {
    rule: 'X1',
    body: bodyOf(user(result('toolu_9'))),
    words:
      'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
  },
  {
    rule: 'A5',
    body: bodyOf(question, assistant(use('a')), user(result('a'), result('a'))),
    words:
      'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a',
  },
  {
    rule: 'A5',
    body: bodyOf(question, assistant(use('read:0')), user(result('read:0'))),
    words: "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    rule: 'X1',
    body: bodyOf(...round, assistant(use('toolu_1')), user(result('toolu_1'))),
    words: 'messages.3.content.0: `tool_use` ids must be unique',
  },
  {
    rule: 'A12',
    body: bodyOf(question, assistant(use('a')), user({ ...result('a'), content: [picture], is_error: true })),
    words: "messages.2.content.0.tool_result: all content must be type 'text' if 'is_error' is true",
  },
  {
    rule: 'X7',
    body: bodyOf(question, assistant({ ...use('a'), input: '{"path"' }), user(result('a'))),
    words: 'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
  },
  {
    rule: 'X6',
    body: { ...bodyOf(...round), tools: undefined },
    words: 'Requests which include `tool_use` or `tool_result` blocks must define tools',
  },
  { rule: 'X6', body: { ...bodyOf(question), tools: [tool, tool] }, words: 'tools: Tool names must be unique.' },
  {
    rule: 'X6',
    body: { ...bodyOf(question), tools: [{ ...tool, input_schema: { oneOf: [], type: 'object' } }] },
    words: 'tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
  },
  {
    rule: 'A7',
    body: { ...bodyOf(...round), thinking: enabled },
    words: 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.',
    strict: unchecked,
  },
  {
    rule: 'A7',
    body: bodyOf(question, assistant(text('So.'), thought, use('a')), user(result('a'))),
    words: 'the first block must be `thinking` or `redacted_thinking`. Found `text`.',
    strict: unchecked,
  },
  {
    rule: 'A8',
    body: bodyOf(question, assistant(thought, use('a')), user(result('a'))),
    words: 'messages.1.content.0: Invalid `signature` in `thinking` block',
  },
  {
    rule: 'A8',
    body: bodyOf(question, assistant({ ...thought, signature: '' }, use('a')), user(result('a'))),
    words: 'messages.1.content.0.thinking.signature: Field required',
    strict: unchecked,
  },
  {
    rule: 'request',
    body: { ...bodyOf(question), max_tokens: 2000, thinking: enabled },
    words: '`max_tokens` must be greater than `thinking.budget_tokens`.',
  },
  {
    rule: 'A9',
    body: bodyOf(user(marked('1'), marked('2'), marked('3'), marked('4'), marked('5'))),
    words: 'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  },
  {
    rule: 'A9',
    body: bodyOf(user(marked(''))),
    words: 'messages.0.content.0.text: cache_control cannot be set for empty text blocks',
  },
  {
    rule: 'A10',
    body: bodyOf(question, assistant(summary), question),
    words: 'compaction_block_misplaced',
  },
  { rule: 'A10', body: bodyOf(user(summary, summary)), words: 'compaction_block_ambiguous' },
  { rule: 'A10', body: bodyOf(user(summary, text('On.'))), words: 'compaction_signature_invalid' },
  {
    rule: 'A11',
    body: bodyOf(
      question,
      assistant({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }, text('So.')),
      question,
    ),
    words:
      '`web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block',
  },
  {
    rule: 'A11',
    body: bodyOf(
      question,
      assistant({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
      question,
    ),
    words: 'Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
  },
  {
    rule: 'X9',
    body: { ...bodyOf(user(text('long '.repeat(1000)))), max_tokens: 10 },
    words: 'prompt is too long: 1260 tokens > 1000 maximum',
    strict: { windowTokens: 1000 },
  },
  {
    rule: 'X9',
    body: bodyOf(question),
    words: 'exceed context limit: 11 + 4096 > 4100, decrease input length or `max_tokens` and try again',
    strict: { windowTokens: 4100 },
  },
  {
    rule: 'X9',
    body: bodyOf(user(text('long '.repeat(1000)))),
    words: 'Request exceeds the maximum size',
    strict: { maxBytes: 2000 },
    status: 413,
  },
];

const headers = { 'anthropic-beta': 'compact-2026-09-04' };

describe('refusals by Anthropic', () => {
  it.each(broken)(
    'the strict Anthropic test server refuses a request that breaks wire rule $rule: $words',
    async ({ rule, body, words, strict = {}, status = 400 }) => {
      await using provider = await startProvider({ strict });
      const reply = await postRaw(provider, 'anthropic', body, headers);
      const { error } = JSON.parse(reply.text) as { error: { message: string; type: string; details?: JsonObject } };
      expect(reply.status).toBe(status);
      expect(error.type).toBe(status === 413 ? 'request_too_large' : 'invalid_request_error');
      expect(`${error.message} ${String(error.details?.['error_code'])}`).toContain(words);
      expect(provider.requests[0]?.refusal?.rule).toBe(rule);
    },
  );

  it.each([
    ['one user message', bodyOf(question)],
    ['a message whose content is a string', bodyOf({ role: 'user', content: 'Look.' })],
    ['a complete tool round', bodyOf(...round)],
    [
      'text after the tool results',
      bodyOf(...round.slice(0, 2), user(result('toolu_1'), result('toolu_2'), text('Go on.'))),
    ],
    ['four cache breakpoints', bodyOf(user(marked('1'), marked('2'), marked('3'), marked('4')))],
    ['an image', bodyOf(user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }))],
    [
      'adaptive thinking with a tool round that has no thinking',
      { ...bodyOf(...round), thinking: { type: 'adaptive' } },
    ],
  ])('the strict Anthropic test server accepts a request with %s', async (_name, body) => {
    await using provider = await startProvider({ answers: [{ text: 'Yes.' }] });
    const reply = await postRaw(provider, 'anthropic', body);
    expect(reply).toMatchObject({ status: 200 });
  });

  it('the strict Anthropic test server refuses a compaction block without its beta header', async () => {
    await using provider = await startProvider();
    const reply = await postRaw(provider, 'anthropic', bodyOf(user(summary, text('On.'))));
    expect(reply.text).toContain("Input tag 'compaction' found using 'type' does not match");
  });

  it('with `strict: false`, the Anthropic test server accepts every request that it otherwise refuses', async () => {
    await using provider = await startProvider({ answers: () => ({ text: 'Yes.' }), strict: false });
    for (const { body } of broken) expect((await postRaw(provider, 'anthropic', body)).status).toBe(200);
  });
});
