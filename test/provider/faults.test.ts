import { describe, expect, it } from 'vitest';
import { ASKINGS, FORMATS, type Format } from './clients.ts';
import { ERROR_NAMES, type ErrorName } from './fault.ts';
import { startProvider } from './provider.ts';

interface Seen {
  readonly status: number;
  /** Anthropic's error `type` or OpenAI's `code`. Absent if the provider sends none. */
  readonly name?: string;
  readonly words?: string;
}

const answer = { text: 'A sentence that is streamed in more pieces than one.' };

const anthropic: Readonly<Record<ErrorName, Seen>> = {
  rate_limit: { status: 429, name: 'rate_limit_error' },
  token_rate_limit: { status: 429, name: 'rate_limit_error', words: 'input tokens per minute' },
  too_large_for_rate: { status: 429, name: 'rate_limit_error', words: 'too many tokens' },
  quota: { status: 400, name: 'invalid_request_error', words: 'credit balance is too low' },
  overloaded: { status: 529, name: 'overloaded_error', words: 'Overloaded' },
  server_error: { status: 500, name: 'api_error' },
  bad_gateway: { status: 502 },
  timeout: { status: 504, name: 'timeout_error' },
  conflict: { status: 409, name: 'conflict_error' },
  overflow: { status: 400, name: 'invalid_request_error', words: 'prompt is too long: 208310 tokens > 200000 maximum' },
  too_many_bytes: { status: 413, name: 'request_too_large' },
  unauthorized: { status: 401, name: 'authentication_error' },
  forbidden: { status: 403, name: 'permission_error' },
  unknown_model: { status: 404, name: 'not_found_error', words: 'model: claude-opus-5-5' },
  invalid: { status: 400, name: 'invalid_request_error' },
};

const openAi: Readonly<Record<ErrorName, Seen>> = {
  rate_limit: { status: 429, name: 'rate_limit_exceeded', words: 'requests per min (RPM)' },
  token_rate_limit: { status: 429, name: 'rate_limit_exceeded', words: 'tokens per min (TPM)' },
  too_large_for_rate: { status: 429, name: 'rate_limit_exceeded', words: 'Request too large for gpt-6-astra' },
  quota: { status: 429, name: 'insufficient_quota' },
  overloaded: { status: 503, words: 'currently overloaded' },
  server_error: { status: 500, words: 'had an error while processing' },
  bad_gateway: { status: 502 },
  timeout: { status: 504 },
  conflict: { status: 409 },
  overflow: { status: 400, name: 'context_length_exceeded' },
  too_many_bytes: { status: 413 },
  unauthorized: { status: 401, name: 'invalid_api_key' },
  forbidden: { status: 403, name: 'model_not_found' },
  unknown_model: { status: 404, name: 'model_not_found' },
  invalid: { status: 400, name: 'invalid_value' },
};

const seenBy: Readonly<Record<Format, Readonly<Record<ErrorName, Seen>>>> = {
  anthropic,
  'openai-chat': openAi,
  'openai-responses': openAi,
};

const errors = FORMATS.flatMap((format) => ERROR_NAMES.map((name) => ({ format, name })));
const ways = FORMATS.flatMap((format) => [
  { format, isStream: true },
  { format, isStream: false },
]);

async function fail(asked: Promise<unknown>): Promise<Error> {
  return asked.then(
    () => {
      throw new Error('it was answered');
    },
    (error: Error) => error,
  );
}

describe('errors as an SDK sees them', () => {
  it.each(errors)(
    'the $format test server returns the error $name as the provider’s SDK expects it',
    async ({ format, name }) => {
      await using provider = await startProvider({ answers: [{ fault: name }, { fault: name }] });
      const { status, name: expected, words = '' } = seenBy[format][name];
      for (const isStream of [true, false]) {
        const error = await fail(ASKINGS[format](provider, isStream));
        expect(error).toMatchObject({ status });
        expect(error.message).toContain(words);
        if (expected !== undefined)
          expect(error).toMatchObject({ [format === 'anthropic' ? 'type' : 'code']: expected });
      }
    },
  );

  it.each(FORMATS)('the %s test server returns the retry time that its script contains', async (format) => {
    await using provider = await startProvider({ answers: [{ fault: 'rate_limit', retryAfterMs: 1500 }] });
    const error = await fail(ASKINGS[format](provider, true));
    const headers = (error as Error & { headers: Headers }).headers;
    expect(headers.get('retry-after')).toBe('2');
    expect(headers.get('retry-after-ms')).toBe(format === 'anthropic' ? null : '1500');
  });

  it('the test server returns an error with the message that its script contains', async () => {
    const message = 'messages.7: something new';
    await using provider = await startProvider({ answers: [{ fault: 'invalid', message }] });
    expect((await fail(ASKINGS.anthropic(provider, true))).message).toContain(message);
  });
});

describe('faults as an SDK sees them', () => {
  it.each(ways)(
    'the $format test server closes the connection if its script has a reset (streamed: $isStream)',
    async ({ format, isStream }) => {
      await using provider = await startProvider({ answers: [{ fault: 'reset' }] });
      expect((await fail(ASKINGS[format](provider, isStream))).message).toBe('Connection error.');
    },
  );

  it.each(ways)(
    'the $format test server sends nothing until the client disconnects if its script has a hang (streamed: $isStream)',
    async ({ format, isStream }) => {
      const client = new AbortController();
      const answers = () => {
        client.abort();
        return { fault: 'hang' } as const;
      };
      await using provider = await startProvider({ answers });
      const error = await fail(ASKINGS[format](provider, isStream, client.signal));
      expect(error.constructor.name).toBe('APIUserAbortError');
    },
  );

  it.each(ways)(
    'the $format test server cuts the answer in the middle if its script has a cut (streamed: $isStream)',
    async ({ format, isStream }) => {
      await using provider = await startProvider({ answers: [{ fault: 'cut', answer }] });
      expect((await fail(ASKINGS[format](provider, isStream))).message).toMatch(/terminated|Premature close|aborted/i);
    },
  );

  it.each(FORMATS)(
    'the %s test server ends a stream early without a connection error if its script has a cut with `isOrderly`',
    async (format) => {
      await using provider = await startProvider({ answers: [{ fault: 'cut', answer, isOrderly: true }] });
      const last = await ASKINGS[format](provider, true);
      expect(last).toBeDefined();
      expect(JSON.stringify(last)).not.toMatch(/message_stop|"finish_reason":"stop"|response\.completed/);
    },
  );

  it.each(FORMATS)(
    'the %s test server ends a body early without a connection error if its script has a cut with `isOrderly`',
    async (format) => {
      await using provider = await startProvider({ answers: [{ fault: 'cut', answer, isOrderly: true }] });
      expect((await fail(ASKINGS[format](provider, false))).name).toBe('SyntaxError');
    },
  );

  it.each(FORMATS)('the %s test server returns a page or unrelated JSON if its script has garbage', async (format) => {
    const kinds = ['event', 'page', 'json'] as const;
    await using provider = await startProvider({ answers: kinds.map((as) => ({ fault: 'garbage', as })) });
    await expect(ASKINGS[format](provider, true)).rejects.toThrow(SyntaxError);
    // The SDK returns the HTML page as the answer. Only its Responses part throws.
    const page = await ASKINGS[format](provider, false).catch((error: Error) => error.message);
    expect(page).toEqual(expect.stringContaining('<html>'));
    expect(await ASKINGS[format](provider, false)).toMatchObject({ ok: true });
  });

  it.each([
    ['anthropic', 'overloaded', { type: 'overloaded_error' }],
    ['openai-chat', 'server_error', { error: { type: 'server_error' } }],
    ['openai-responses', 'overflow', { code: 'context_length_exceeded' }],
  ] as const)('the %s test server returns the error %s in the middle of a stream', async (format, error, seen) => {
    await using provider = await startProvider({ answers: [{ fault: 'stream_error', error, answer }] });
    const failed = await fail(ASKINGS[format](provider, true));
    expect(failed).toMatchObject({ status: undefined, ...seen });
  });

  it('the Responses test server fails a response in the middle of its stream if its script has a stream error', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'stream_error', error: 'rate_limit', answer }] });
    expect(await ASKINGS['openai-responses'](provider, true)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'rate_limit_exceeded' } },
    });
  });

  it.each(ways)(
    'the $format test server answers slowly but completely if its script has a delay (streamed: $isStream)',
    async ({ format, isStream }) => {
      await using provider = await startProvider({ answers: [{ fault: 'slow', answer, delayMs: 1 }] });
      const said = JSON.stringify(await ASKINGS[format](provider, isStream));
      expect(said).toMatch(isStream ? /message_stop|"finish_reason":"stop"|response\.completed/ : /A sentence/);
    },
  );
});
