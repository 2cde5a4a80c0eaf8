import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { ModelError, type ModelErrorKind } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { classifyFailure } from '../../src/providers/provider-errors.ts';
import { ask, connect, KEY } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const NOW = Date.UTC(2026, 10, 21);
const chat = 'openai-chat';
const anthropic = 'anthropic';

type Seen = [name: string, ModelErrorKind, WireFormat, status: number, body: object | string];

const overflows = (
  [
    [
      'OpenAI: too many messages',
      openAiError(
        "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2939 instead.",
        'array_above_max_length',
      ),
    ],
    [
      'OpenAI: a text that is too long',
      openAiError(
        "Invalid 'input[0].content[0].text': string too long. Expected a string with maximum length 10485760, but got a string with length 11000000 instead.",
        'string_above_max_length',
      ),
    ],
    ['Moonshot', openAiError('Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)')],
    ['MiniMax', openAiError('invalid params, context window exceeds limit (2013)', null, 'bad_request_error')],
    [
      'DashScope',
      openAiError(
        '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]',
        'invalid_parameter_error',
      ),
    ],
    ['GLM', { error: { code: '1261', message: 'Prompt exceeds max length' } }],
    ['GLM, in its own language', { error: { code: '1261', message: 'Prompt 超长' } }],
    [
      'Together, TGI',
      openAiError(
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`',
      ),
    ],
    ['Cohere', { message: 'too many tokens: total number of tokens in the prompt cannot exceed 128000' }],
    [
      'LM Studio',
      openAiError(
        'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
      ),
    ],
    [
      'Copilot',
      openAiError('prompt token count of 140000 exceeds the limit of 128000', 'model_max_prompt_tokens_exceeded'),
    ],
  ] as const
).map(([name, body]): Seen => [`${name}: too long`, 'overflow', chat, name.startsWith('Together') ? 422 : 400, body]);

/** Failures that rolling back to another version of the context would not fix. */
const fatals = (
  [
    [anthropic, anthropicError('Output blocked by content filtering policy')],
    [anthropic, anthropicError('Could not process image')],
    [anthropic, anthropicError('Unable to download the file. Please verify the URL and try again.')],
    [
      anthropic,
      anthropicError(
        'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
      ),
    ],
    [
      chat,
      openAiError(
        'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
        'invalid_value',
      ),
    ],
    [anthropic, anthropicError('tools.3.custom.input_schema: input_schema does not support oneOf at the top level')],
    [
      chat,
      openAiError(
        "Invalid schema for function 'act': schema must have type 'object' and not have 'oneOf' at the top level.",
        'invalid_function_parameters',
      ),
    ],
    [
      chat,
      openAiError(
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 130 instead.",
        'array_above_max_length',
      ),
    ],
    [
      chat,
      { error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' } },
    ],
  ] as const
).map(([format, body]): Seen => [JSON.stringify(body).slice(0, 120), 'fatal', format, 400, body]);

/** Responses seen from real servers that the strict test server does not send. */
const seen: Seen[] = [
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
    'Anthropic: an output cap above the limit of the model',
    'fatal',
    anthropic,
    400,
    anthropicError('max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-x'),
  ],
  [
    'Anthropic: a thinking budget for a model with adaptive thinking',
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
  ['an HTML page with status 529', 'retry', anthropic, 529, '<html>busy</html>'],
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
    'llama.cpp: too long, with status 500',
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
    'OpenAI: a parameter that the model does not support',
    'fatal',
    chat,
    400,
    openAiError("Unsupported parameter: 'max_tokens' is not supported with this model.", 'unsupported_parameter'),
  ],
  ['OpenAI: flagged', 'fatal', 'openai-responses', 400, openAiError('Your prompt was flagged', 'invalid_prompt')],
  ['Azure: filtered', 'fatal', chat, 400, openAiError('The response was filtered', 'content_filter')],
  ['Azure: slow down', 'retry', chat, 429, openAiError('Requests have exceeded call rate limit', '429')],
  ['OpenAI: an unreadable picture', 'fatal', 'openai-responses', 400, openAiError('No image', 'invalid_image_format')],
  ['an account without credit', 'fatal', chat, 402, openAiError('Insufficient credits')],
  ['a retired model', 'fatal', chat, 410, openAiError('The model has been retired')],
  ['Cloudflare: a timeout of the server', 'retry', chat, 524, '<html>timeout</html>'],
  ['a proxy: a closed client (499)', 'retry', chat, 499, ''],
  ...overflows,
  ...fatals,
  [
    'Responses: an id of an item that was never stored',
    'invalid',
    'openai-responses',
    404,
    openAiError(
      "Item with id 'rs_68' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    ),
  ],
  [
    'OpenAI: an id that is too long',
    'invalid',
    chat,
    400,
    openAiError(
      "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 44 instead.",
      'string_above_max_length',
    ),
  ],
  ['OpenAI: an unknown model', 'fatal', chat, 404, openAiError('The model `x` does not exist')],
  [
    'OpenAI: a disabled account',
    'fatal',
    chat,
    429,
    openAiError(
      'Your account is not active, please check your billing details on our website.',
      'billing_not_active',
      'billing_not_active',
    ),
  ],
  [
    'Gemini: a quota per minute',
    'retry',
    chat,
    429,
    {
      error: {
        code: 429,
        message: 'You exceeded your current quota. Please retry in 34.074824224s.',
        status: 'RESOURCE_EXHAUSTED',
      },
    },
  ],
  [
    'Bedrock: a rate limit whose text says "too many tokens"',
    'retry',
    chat,
    400,
    openAiError('Too many tokens, please wait before trying again.', 'ThrottlingException', 'ThrottlingException'),
  ],
];

function anthropicError(message: string): object {
  return { type: 'error', error: { type: 'invalid_request_error', message }, request_id: 'req_1' };
}

function openAiError(message: string, code: string | null = null, type = 'invalid_request_error'): object {
  return { error: { message, type, param: null, code } };
}

it.each(seen)(
  'the response "%s" of a provider causes an error of the kind %s',
  async (...[, kind, format, status, body]) => {
    await using server = await serveRaw({ status, body });
    const error = await failureOf(connect(format, server).generate(ask([{ role: 'user', content: 'Hi' }])));
    expect(error).toBeInstanceOf(ModelError);
    expect(error.kind).toBe(kind);
    expect(error.message).toContain(String(status));
    expect(server.requests).toHaveLength(1);
  },
);

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  'a %s model’s error message quotes neither the request, nor the API key, nor the response',
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

it.each<[ModelErrorKind, string, string]>([
  ['invalid', 'messages.3.content.0: unexpected field', 'messages.3.content.0'],
  ['fatal', 'tools.3.custom.input_schema: does not support oneOf', 'tools.3.custom.input_schema'],
  [
    'overflow',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum',
    'messages.0.content.1.image.source',
  ],
])('an error of the kind %s has the request path from the provider’s message "%s"', (kind, message, place) => {
  const error = classifyFailure({ status: 400, type: 'invalid_request_error', message }, NOW);
  expect(error.kind).toBe(kind);
  expect(error.message).toContain(` at ${place}`);
});

it.each<[string, ModelErrorKind, object]>([
  ['a refused API key', 'fatal', { code: 401, message: 'User not found.' }],
  ['a refused API key with a string as code', 'fatal', { code: '401', message: 'User not found.' }],
  ['a rate limit', 'retry', { code: 429, message: 'Rate limit exceeded' }],
  [
    'a request that is too long',
    'overflow',
    { code: 400, message: "This endpoint's maximum context length is 1000 tokens." },
  ],
  ['a request that the provider refused', 'invalid', { code: 400, message: 'Provider returned error' }],
])('a model call fails if an OpenRouter stream reports %s, and the error kind is %s', async (_name, kind, error) => {
  await using server = await serveRaw({ body: [{ id: 'c', choices: [], error }] });
  const failed = await failureOf(connect(chat, server).generate(ask([{ role: 'user', content: 'Hi' }])));
  expect(failed).toBeInstanceOf(ModelError);
  expect(failed.kind).toBe(kind);
});

/** All error types of the SDK. If a new SDK version adds a type, it must be added here. */
const responseFailures: Readonly<Record<OpenAI.Responses.ResponseError['code'], ModelErrorKind>> = {
  server_error: 'retry',
  rate_limit_exceeded: 'retry',
  vector_store_timeout: 'retry',
  invalid_prompt: 'fatal',
  bio_policy: 'fatal',
  misalignment_policy_violation: 'fatal',
  data_residency_mismatch: 'fatal',
  invalid_image: 'fatal',
  invalid_image_format: 'fatal',
  invalid_base64_image: 'fatal',
  invalid_image_url: 'fatal',
  image_too_large: 'overflow',
  image_too_small: 'fatal',
  image_parse_error: 'fatal',
  image_content_policy_violation: 'fatal',
  invalid_image_mode: 'fatal',
  image_file_too_large: 'overflow',
  unsupported_image_media_type: 'fatal',
  empty_image_file: 'fatal',
  failed_to_download_image: 'fatal',
  image_file_not_found: 'fatal',
};

describe('an error inside a Responses stream', () => {
  const fail = async (...events: readonly object[]) => {
    await using server = await serveRaw({ body: events });
    return await failureOf(connect('openai-responses', server).generate(ask([{ role: 'user', content: 'Hi' }])));
  };

  it.each(Object.entries(responseFailures))(
    'a model call fails if a Responses API stream reports %s, and the error kind is %s',
    async (code, kind) => {
      const failed = await fail({ type: 'response.failed', response: { error: { code, message: 'No.' } } });
      expect(failed).toMatchObject({ kind, code });
      expect(failed.message).not.toContain('the answer did not arrive completely');
      expect(await fail({ type: 'error', code, message: 'No.' })).toMatchObject({ kind, code });
    },
  );

  it('an unknown error code in a Responses API stream is classified by its error type', async () => {
    const error = { code: 'something_new', type: 'authentication_error', message: 'No.' };
    expect(await fail({ type: 'response.failed', response: { error } })).toMatchObject({ kind: 'fatal' });
  });
});

describe('the retry time', () => {
  const wait = (
    headers: Record<string, string>,
    message = '',
    status: number | undefined = 429,
  ): number | undefined => {
    const { retryAt } = classifyFailure({ status, message, headers: new Headers(headers) }, NOW);
    return retryAt === undefined ? undefined : retryAt - NOW;
  };

  it.each<[string, Record<string, string>, number | undefined]>([
    ['milliseconds', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['half a second', { 'retry-after': '0.5' }, 500],
    ['a date', { 'retry-after': 'Sat, 21 Nov 2026 00:00:30 GMT' }, 30_000],
    ['a past date', { 'retry-after': 'Fri, 20 Nov 2026 00:00:00 GMT' }, 0],
    ['a day, which is limited to an hour', { 'retry-after': '86400' }, 3_600_000],
    ['the later of two limits', { 'x-ratelimit-reset-requests': '120ms', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
    [
      'two limits, of which one was reached',
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '149000',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      1_000,
    ],
    [
      'Anthropic’s limits, of which one was reached',
      {
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2026-11-21T00:10:00Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-21T00:00:05Z',
        'anthropic-ratelimit-output-tokens-remaining': '8000',
        'anthropic-ratelimit-output-tokens-reset': '2026-11-21T00:01:00Z',
      },
      5_000,
    ],
    [
      'limits that were not reached',
      { 'x-ratelimit-remaining-tokens': '9', 'x-ratelimit-reset-tokens': '6m0s' },
      undefined,
    ],
    ['unreadable values', { 'retry-after': 'soon', 'x-ratelimit-reset-tokens': '?' }, undefined],
    ['no headers', {}, undefined],
  ])('the retry time of an error is read from headers with %s', (_name, headers, expected) => {
    expect(wait(headers)).toBe(expected);
  });

  it('the retry time of an error inside a stream is read from its message', () => {
    expect(wait({}, 'Limit 30000, Used 14567. Please try again in 18.642s. Visit us.')).toBe(18_642);
    expect(wait({}, 'Please try again in 1m2.5s.')).toBe(62_500);
    expect(wait({}, 'You exceeded your current quota. Please retry in 34.074824224s.')).toBe(34_075); // Gemini
    expect(wait({}, 'Requests have exceeded token rate limit. Please retry after 26 seconds.')).toBe(26_000); // Azure
    expect(wait({}, 'Please retry after 2 minutes, or write to us.')).toBe(120_000);
    expect(wait({}, 'Please try again in 3 steps.')).toBeUndefined();
  });

  it('the retry time of an error ignores the headers with reset times unless the status is 429', () => {
    expect(wait({ 'x-ratelimit-reset-tokens': '6m0s' }, '', 500)).toBeUndefined();
    expect(wait({ 'retry-after': '5' }, '', 503)).toBe(5_000);
  });
});
