import { APICallError, LoadAPIKeyError, TypeValidationError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { RetryError } from 'ai';
import { expect, it } from 'vitest';
import { classifyAiSdkError } from '../../../src/providers/ai-sdk/call-errors.ts';

const call = { signal: new AbortController().signal, describe: () => 'outline' };

function apiError(
  statusCode: number,
  body: object | string,
  responseHeaders: Record<string, string> = {},
): APICallError {
  const responseBody = typeof body === 'string' ? body : JSON.stringify(body);
  return new APICallError({
    message: 'the call failed',
    url: 'https://a',
    requestBodyValues: {},
    statusCode,
    responseHeaders,
    responseBody,
  });
}

const overflow = 'The input token count (1199900) exceeds the maximum number of tokens allowed (1048576).';

it.each([
  ['Gemini', apiError(400, { error: { code: 400, message: overflow, status: 'INVALID_ARGUMENT' } }), 'overflow'],
  [
    'Vertex, in a list',
    apiError(400, [{ error: { code: 400, message: overflow, status: 'INVALID_ARGUMENT' } }]),
    'overflow',
  ],
  [
    'Bedrock',
    apiError(400, { message: 'Input is too long for requested model.' }, { 'x-amzn-errortype': 'ValidationException' }),
    'overflow',
  ],
  [
    'Bedrock, throttled',
    apiError(400, { message: 'Too many requests' }, { 'x-amzn-errortype': 'ThrottlingException:http://a' }),
    'retry',
  ],
  ['Azure', apiError(400, { error: { code: 'content_filter', message: 'The response was filtered' } }), 'fatal'],
  ['Mistral', apiError(401, { detail: 'Unauthorized' }), 'fatal'],
  [
    'Groq',
    apiError(400, {
      error: {
        message: 'Please reduce the length of the messages or completion.',
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
      },
    }),
    'overflow',
  ],
  [
    'xAI',
    apiError(404, { code: 'Some requested entity was not found', error: 'The model grok-0 does not exist' }),
    'fatal',
  ],
  ['Ollama', apiError(500, { error: 'model runner has unexpectedly stopped' }), 'retry'],
  ['an error page', apiError(502, '<html>Bad Gateway</html>'), 'retry'],
  ['an error inside a stream', { type: 'overloaded_error', message: 'Overloaded' }, 'retry'],
  ['a lost connection', new TypeError('fetch failed'), 'retry'],
  ['a timeout of the provider', Object.assign(new Error('timed out'), { name: 'TimeoutError' }), 'retry'],
  ['an abort that turnfold did not ask for', new DOMException('aborted', 'AbortError'), 'retry'],
  ['an answer of another form', new TypeValidationError({ value: { text: 'secret' }, cause: new Error('a') }), 'retry'],
  ['a missing key', new LoadAPIKeyError({ message: 'API key is missing' }), 'fatal'],
  ['an unsupported part', new UnsupportedFunctionalityError({ functionality: 'audio' }), 'fatal'],
])('an AI SDK model’s error from %s gets the right error kind', (_name, error, kind) => {
  const classified = classifyAiSdkError(error, call);
  expect(classified.kind).toBe(kind);
  expect(classified.message).not.toContain('secret');
});

it('a rate limit error of an AI SDK model has the retry time of the response headers, even after the AI SDK’s own retries', () => {
  const limited = apiError(429, { error: { message: 'slow down' } }, { 'retry-after': '42' });
  for (const error of [
    limited,
    new RetryError({ message: 'failed', reason: 'maxRetriesExceeded', errors: [limited] }),
  ]) {
    const before = Date.now();
    const { kind, retryAt = 0 } = classifyAiSdkError(error, call);
    expect(kind).toBe('retry');
    expect(retryAt - before).toBeGreaterThanOrEqual(42_000);
  }
});

it('an aborted call of an AI SDK model throws the reason of its signal', () => {
  const signal = AbortSignal.abort(new Error('the lease is lost'));
  expect(() => classifyAiSdkError(new DOMException('aborted', 'AbortError'), { ...call, signal })).toThrow(
    'the lease is lost',
  );
});
