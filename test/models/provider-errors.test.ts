import { describe, expect, it } from 'vitest';
import { ModelError, type ModelErrorKind } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { classifyFailure } from '../../src/models/provider-errors.ts';
import { ask, connect, KEY } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const NOW = Date.UTC(2026, 10, 21);
const chat = 'openai-chat';
const anthropic = 'anthropic';

/** Bodies as they were seen on the wire, of what the strict server does not say. */
const seen: [string, ModelErrorKind, WireFormat, number, object | string][] = [
  [
    'Anthropic: input and answer together',
    'overflow',
    anthropic,
    400,
    anthropicError(
      'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length',
    ),
  ],
  [
    'Anthropic: an output cap that the model has not',
    'fatal',
    anthropic,
    400,
    anthropicError('max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-x'),
  ],
  [
    'Anthropic: a thinking budget where it wants `adaptive`',
    'fatal',
    anthropic,
    400,
    anthropicError('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'),
  ],
  [
    'Anthropic: a call without its result',
    'invalid',
    anthropic,
    400,
    anthropicError('messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1'),
  ],
  ['a page with 529', 'retry', anthropic, 529, '<html>busy</html>'],
  [
    'llama.cpp: too long',
    'overflow',
    chat,
    400,
    {
      error: {
        code: 400,
        message: 'request (131168 tokens) exceeds the available context size (131072 tokens), try increasing it',
        type: 'exceed_context_size_error',
      },
    },
  ],
  [
    'llama.cpp: too long, as its own failure',
    'overflow',
    chat,
    500,
    { error: { code: 500, message: 'too much', type: 'exceed_context_size_error' } },
  ],
  [
    'vLLM: too long',
    'overflow',
    chat,
    400,
    {
      error: {
        message:
          "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only 1024 tokens, resulting in a maximum input length of 1014 tokens.",
        type: 'BadRequestError',
        param: 'input_tokens',
        code: 400,
      },
    },
  ],
  [
    'Groq: too long',
    'overflow',
    chat,
    400,
    openAiError('Please reduce the length of the messages or completion. Current length is 69553 while limit is 65536'),
  ],
  [
    'OpenAI: a call without its result',
    'invalid',
    chat,
    400,
    openAiError("An assistant message with 'tool_calls' must be followed by tool messages responding to each call"),
  ],
  [
    'OpenAI: a setting that the model has not',
    'fatal',
    chat,
    400,
    openAiError("Unsupported parameter: 'max_tokens' is not supported with this model.", 'unsupported_parameter'),
  ],
  ['OpenAI: flagged', 'fatal', 'openai-responses', 400, openAiError('Your prompt was flagged', 'invalid_prompt')],
  ['Azure: filtered', 'fatal', chat, 400, openAiError('The response was filtered', 'content_filter')],
  ['Azure: slow down', 'retry', chat, 429, openAiError('Requests have exceeded call rate limit', '429')],
  ['a picture that is none', 'fatal', 'openai-responses', 400, openAiError('No image', 'invalid_image_format')],
  ['out of credits', 'fatal', chat, 402, openAiError('Insufficient credits')],
  ['a model that is gone', 'fatal', chat, 410, openAiError('The model has been retired')],
  ['Cloudflare has no answer', 'retry', chat, 524, '<html>timeout</html>'],
  ['a proxy: the client closed', 'retry', chat, 499, ''],
];

function anthropicError(message: string): object {
  return { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_1' };
}

function openAiError(message: string, code: string | null = null): object {
  return { error: { message, type: 'invalid_request_error', param: null, code } };
}

it.each(seen)('%s is %s', async (...[, kind, format, status, body]) => {
  await using server = await serveRaw({ status, body });
  const error = await failureOf(connect(format, server).generate(ask([{ role: 'user', content: 'Hi' }])));
  expect(error).toBeInstanceOf(ModelError);
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(String(status));
  expect(server.requests).toHaveLength(1);
});

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  '%s: nothing of the request, its key or the reply is told',
  async (format) => {
    const secret = 'the launch code is 0000';
    const message = `messages.0.content: ${secret} ${KEY}`;
    const error = { message, type: secret, code: `Bearer ${KEY}`, details: { error_code: secret } };
    await using server = await serveRaw({ status: 400, body: { type: 'error', error } });
    const failed = await failureOf(connect(format, server).generate(ask([{ role: 'user', content: secret }])));
    expect(failed.kind).toBe('invalid');
    const told = JSON.stringify([failed.message, failed.code, failed.form, failed.cause]);
    expect(told).not.toMatch(/launch|sk-test/);
    expect(failed.message).toContain('messages.0.content');
  },
);

describe('when to come back', () => {
  const wait = (
    headers: Record<string, string>,
    message = '',
    status: number | undefined = 429,
  ): number | undefined => {
    const { retryAt } = classifyFailure({ status, message, headers: new Headers(headers) }, NOW);
    return retryAt === undefined ? undefined : retryAt - NOW;
  };

  it.each<[string, Record<string, string>, number | undefined]>([
    ['ms', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['half a second', { 'retry-after': '0.5' }, 500],
    ['a date', { 'retry-after': 'Sat, 21 Nov 2026 00:00:30 GMT' }, 30_000],
    ['a date that is over', { 'retry-after': 'Fri, 20 Nov 2026 00:00:00 GMT' }, 0],
    ['a day: an hour', { 'retry-after': '86400' }, 3_600_000],
    ['two limits: the later', { 'x-ratelimit-reset-requests': '120ms', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
    ['nonsense', { 'retry-after': 'soon', 'x-ratelimit-reset-tokens': '?' }, undefined],
    ['nothing', {}, undefined],
  ])('%s', (_name, headers, expected) => {
    expect(wait(headers)).toBe(expected);
  });

  it('in words, where a stream has nothing else', () => {
    expect(wait({}, 'Limit 30000, Used 14567. Please try again in 18.642s. Visit us.')).toBe(18_642);
    expect(wait({}, 'Please try again in 1m2.5s.')).toBe(62_500);
  });

  it('is not when a limit is whole again that was not met', () => {
    expect(wait({ 'x-ratelimit-reset-tokens': '6m0s' }, '', 500)).toBeUndefined();
    expect(wait({ 'retry-after': '5' }, '', 503)).toBe(5_000);
  });
});
