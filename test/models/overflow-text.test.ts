import { expect, it } from 'vitest';
import { classifyFailure } from '../../src/providers/provider-errors.ts';

const kindOf = (message: string, status = 400): string => classifyFailure({ status, message }, 0).kind;

it.each([
  'prompt is too long: 213462 tokens > 200000 maximum',
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
  'Please reduce the length of the messages or completion. Current length is 69553 while limit is 65536',
  "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input).",
  "This model's maximum context length is 8191 tokens, however you requested 10346 tokens (10346 in your prompt; 5 for the completion).",
  'prompt token count of 141422 exceeds the limit of 128000',
  'the request exceeds the available context size. try increasing the context size or enable context shift',
  'Input exceeds the max input token limit',
  'The request exceeds the maximum number of input tokens (32768).',
  'Input is too long for requested model.',
  'Prompt tokens (9000) exceeds context size (4096)',
  'context ~19344 tokens exceeds the model window 18320',
  'Context size has been exceeded',
  'Reached context length of 4096 tokens',
  'Prompt exceeds max length',
  'The input (265330 tokens) is longer than the model’s context length (262144 tokens).',
  'Requested token count exceeds the model’s maximum context length of 4096 tokens.',
  'inputs must have less than 4096 tokens. Given: 9000',
  'Request body too large for gpt-4o model. Max size: 8000 tokens.',
  'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.',
  'too many tokens: total number of tokens in the prompt cannot exceed 128000',
  'tokens in request more than max tokens allowed',
  'The conversation is too long to fit into the model',
  'messages too large: 5000000 > 4194304',
  'Total tokens of image and text exceed max message tokens',
  '输入长度超过最大限制 32768',
  '请求的上下文超过模型上限 131072',
  'litellm.BadRequestError: OpenAIException - {"error":{"message":"The prompt of 9000 tokens is larger than the window of 8192","code":400}}',
  'You passed 1015 input tokens and requested 10 output tokens. However, the model’s context length is only 1024 tokens.',
  'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length',
])('the provider’s message "%s" is recognized as a request that is too long', (message) => {
  expect(kindOf(message)).toBe('overflow');
});

it.each([
  [
    'fatal',
    'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
  ],
  ['fatal', 'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-x'],
  [
    'fatal',
    'The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 32768, but got 65536',
  ],
  ['fatal', 'max_output_tokens exceeds the limit of the model (8192)'],
  ['fatal', 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'],
  ['fatal', 'Invalid value for maxOutputTokens: supported range is from 1 (inclusive) to 65537 (exclusive).'],
  [
    'fatal',
    '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
  ],
  ['invalid', '`max_tokens` must be greater than `thinking.budget_tokens`'],
  ['invalid', 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'],
  ['invalid', 'messages.3.content.0.text: cannot parse: "the prompt is too long, said the error"'],
  ['invalid', 'messages.1.content: cannot read `the context window exceeds the limit of tokens` as JSON'],
  ['invalid', 'messages: at most one system message is allowed'],
  [
    'invalid',
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 44 instead.",
  ],
  ['invalid', 'Unexpected token } in JSON at position 20: the limit of the parser'],
  ['invalid', 'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1'],
  ['fatal', 'tools.0.name: String should have at most 64 characters'],
  ['invalid', 'temperature must be less than 2'],
  ['invalid', 'stop: array too long, at most 4 stop sequences'],
  ['invalid', 'the parameter top_logprobs is more than 20'],
  ['invalid', 'at most 128 tools per request are allowed'],
])('an error of the kind %s is not taken for a request that is too long: "%s"', (kind, message) => {
  expect(kindOf(message)).toBe(kind);
});

it.each([
  'Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 25000, Requested 10000.',
  'Too many tokens, please wait before trying again.',
  'Your account exceeded its quota of input tokens',
])('an exceeded limit of a rate or an account is not taken for a request that is too long: "%s"', (message) => {
  expect(kindOf(message)).not.toBe('overflow');
  expect(kindOf(message, 429)).not.toBe('overflow');
});

it.each([
  [true, 'invalid params: tokens'],
  [true, 'the length of the request is not valid'],
  [false, 'messages.3.content: the length is not valid'],
  [false, 'Provider returned error'],
])(
  'classifyFailure reports mayBeTooLong as %s for a malformed request with the provider’s message "%s"',
  (mayBeTooLong, message) => {
    expect(classifyFailure({ status: 400, message }, 0)).toMatchObject({ kind: 'invalid', mayBeTooLong });
  },
);
