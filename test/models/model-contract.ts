import { expect, it } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { type Model, ModelError } from '../../src/domain/model.ts';
import { PIXEL, SHORT_PDF } from '../fakes/contents.ts';
import type { Dialect } from '../provider/dialect.ts';
import { ERROR_NAMES, type ErrorName, type Fault } from '../provider/fault.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import { ask, type ConnectOptions, KEY, PROFILE } from './fixture.ts';

const user: Message = { role: 'user', content: 'Which files?' };

/** Two parallel calls. The first has a picture and a file in its result, and the second has only text. */
const PICTURED: readonly Message[] = [
  user,
  {
    role: 'assistant',
    content: '',
    toolCalls: ['c2_0', 'c2_1'].map((id) => ({ id, name: 'read', arguments: '{}' })),
  },
  {
    role: 'tool',
    content: 'Two shots:',
    toolCallId: 'c2_0',
    parts: [
      { type: 'text', text: 'Two shots:' },
      { type: 'image', data: PIXEL, mediaType: 'image/png' },
      { type: 'file', data: SHORT_PDF, mediaType: 'application/pdf', name: 'a.pdf' },
    ],
  },
  { role: 'tool', content: 'No shot.', toolCallId: 'c2_1' },
];

async function failureOf(promise: Promise<unknown>): Promise<ModelError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ModelError) return error;
  throw new Error('no model error', { cause: error });
}

/** A way to reach a model, which the contract of all models is checked for. */
export interface ModelSubject {
  /** Name of the model in the titles of tests. */
  readonly name: string;
  /** Wire format that the model's provider speaks. */
  readonly format: Dialect['format'];
  readonly connect: (provider: Pick<Provider, 'url'>, options?: ConnectOptions) => Model;
  /** False if requests never have the model's thinking of an earlier step (default true). */
  readonly keepsThinking?: boolean;
  /** Errors that this provider reports in another way. */
  readonly decisions?: Partial<Readonly<Record<ErrorName, ModelError['kind']>>>;
  /** Errors that the client knows by more than their name if they come inside a stream. */
  readonly streamDecisions?: Partial<Readonly<Record<ErrorName, ModelError['kind']>>>;
}

/** Tests that every model passes, whatever its provider and client. */
export function describeModel({
  name,
  format,
  connect,
  keepsThinking = true,
  decisions: other = {},
  streamDecisions = {},
}: ModelSubject): void {
  it(`a ${name} model returns the text and token usage of the provider’s answer`, async () => {
    await using provider = await startProvider({
      answers: [{ text: 'Two.', usage: { input: 1_000, cachedInput: 600, cacheWrite: 0, output: 7 } }],
    });
    const answer = await connect(provider).generate(ask([user]));
    expect(answer).toMatchObject({ content: 'Two.', toolCalls: [], end: 'complete' });
    expect(answer.usage).toMatchObject({ inputTotal: 1_000, cachedInput: 600, output: 7 });
    expect(provider.requests[0]).toMatchObject({ isStream: true, body: { model: 'model-1' } });
  });

  it(`an answer of a ${name} model says when the next call is allowed, if the rate limit is used up`, async () => {
    const headers = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '30s' };
    await using provider = await startProvider({ answers: [{ text: 'Two.' }], headers });
    const before = Date.now();
    const { nextCallAt } = await connect(provider).generate(ask([user]));
    expect(nextCallAt).toBeGreaterThanOrEqual(before + 30_000);
    expect(nextCallAt).toBeLessThanOrEqual(Date.now() + 30_000);
  });

  it(`a ${name} request has the model’s thinking beside the results of its parallel tool calls`, async () => {
    await using provider = await startProvider({
      answers: [
        {
          thinking: 'Both files.',
          text: 'I look.',
          calls: [
            { name: 'read', arguments: { path: 'a' } },
            { name: 'read', arguments: { path: 'b' } },
          ],
        },
        { text: 'Done.' },
      ],
    });
    const model = connect(provider);
    const first = await model.generate(ask([user]));
    expect(first.toolCalls.map((call) => [call.name, call.arguments])).toEqual([
      ['read', '{"path":"a"}'],
      ['read', '{"path":"b"}'],
    ]);
    const calls = first.toolCalls.map((call, index) => ({ ...call, id: `c2_${index}`, providerId: call.id }));
    const history: Message[] = [
      user,
      { role: 'assistant', content: first.content, toolCalls: calls, raw: first.raw },
      { role: 'tool', content: 'A', toolCallId: 'c2_0' },
      { role: 'tool', content: '', toolCallId: 'c2_1', isError: true },
    ];
    expect(await model.generate(ask(history))).toMatchObject({ content: 'Done.', end: 'complete' });
    if (!keepsThinking) return;
    expect(JSON.stringify(provider.requests[1]?.body)).toContain(
      format === 'openai-responses' ? 'encrypted' : 'Both files.',
    );
  });

  // An open-weight model's reasoning has no signature, so it is always sent inside its tool loop.
  it.skipIf(format === 'openai-chat' || !keepsThinking)(
    `a ${name} request has no thinking that was written under another context version`,
    async () => {
      await using provider = await startProvider({
        answers: [{ thinking: 'Hm.', calls: [{ name: 'read', arguments: {} }] }, { text: 'Done.' }],
      });
      const model = connect(provider);
      const first = await model.generate(ask([user]));
      const history: Message[] = [
        user,
        { role: 'assistant', content: '', toolCalls: first.toolCalls.map((call) => ({ ...call })), raw: first.raw },
        { role: 'tool', content: 'A', toolCallId: first.toolCalls[0]?.id ?? '' },
      ];
      const { content } = await model.generate(ask(history, { version: 1 }));
      expect(content).toBe('Done.');
      expect(JSON.stringify(provider.requests[1]?.body)).not.toMatch(/Hm\.|"encrypted_content":"/);
    },
  );

  it(`a ${name} request has pictures and files of tool results behind all results, or within their result`, async () => {
    await using provider = await startProvider({ answers: [{ text: 'Seen.' }] });
    const { content } = await connect(provider).generate(ask(PICTURED));
    expect(content).toBe('Seen.');
    const sent = JSON.stringify(provider.requests[0]?.body);
    const places = ['Two shots:', PIXEL, SHORT_PDF, 'No shot.'].map((text) => [text, sent.indexOf(text)] as const);
    expect(places.filter(([, at]) => at < 0)).toEqual([]);
    // Chat Completions has no form for pictures within results.
    const at = Object.fromEntries(places);
    expect((at[PIXEL] ?? 0) > (at['No shot.'] ?? 0)).toBe(format === 'openai-chat' || format === 'gemini');
  });

  it(`a ${name} request to a model that reads no images has a note in place of each picture and file`, async () => {
    await using provider = await startProvider({ answers: [{ text: 'Noted.' }] });
    const profile = { ...PROFILE, abilities: { inputs: [] } };
    await connect(provider, { profile }).generate(ask(PICTURED));
    const sent = JSON.stringify(provider.requests[0]?.body);
    expect(sent).toContain('(a picture is not shown, because the model reads none)');
    expect(sent).toContain('(a file of type application/pdf is not shown, because the model reads none)');
    expect([sent.includes(PIXEL), sent.includes(SHORT_PDF)]).toEqual([false, false]);
  });

  it.each([
    ['cut_off', 'cut_off'],
    ['refusal', 'refusal'],
  ] as const)(`a ${name} answer that the provider ended as %s is returned as %s`, async (end, expected) => {
    await using provider = await startProvider({ answers: [{ text: 'I can', end }] });
    expect((await connect(provider).generate(ask([user]))).end).toBe(expected);
  });

  const decisions: Readonly<Record<ErrorName, ModelError['kind']>> = {
    rate_limit: 'retry',
    token_rate_limit: 'retry',
    // OpenAI says that one request is above the limit of a minute, so that waiting would not help.
    too_large_for_rate: format === 'anthropic' ? 'retry' : 'overflow',
    quota: 'fatal',
    overloaded: 'retry',
    server_error: 'retry',
    bad_gateway: 'retry',
    timeout: 'retry',
    conflict: 'retry',
    overflow: 'overflow',
    too_many_bytes: 'overflow',
    unauthorized: 'fatal',
    forbidden: 'fatal',
    unknown_model: 'fatal',
    invalid: 'invalid',
    ...other,
  };
  it.each(ERROR_NAMES)(
    `a ${name} model call fails with the right error kind if the provider returns the error %s`,
    async (fault) => {
      await using provider = await startProvider({ answers: [{ fault }] });
      const error = await failureOf(connect(provider).generate(ask([user])));
      expect(error.kind).toBe(decisions[fault]);
      expect(error.message).not.toContain(KEY);
      expect(error.message.length).toBeLessThan(200);
      if (error.kind === 'invalid') expect(error.form).toContain('"role"');
    },
  );

  it.each(ERROR_NAMES)(
    `a ${name} model call fails with the right error kind if the error %s comes in the middle of an answer`,
    async (error) => {
      await using provider = await startProvider({
        answers: [{ fault: 'stream_error', error, answer: { text: 'This will not be whole.' }, afterEvents: 2 }],
      });
      const failed = await failureOf(connect(provider).generate(ask([user])));
      // An error inside a stream has no HTTP status, except Gemini's.
      const isUnnamed =
        format !== 'gemini' && (error === 'invalid' || (error === 'too_many_bytes' && format !== 'anthropic'));
      expect(failed.kind).toBe(streamDecisions[error] ?? (isUnnamed ? 'retry' : decisions[error]));
    },
  );

  it(`a ${name} model’s rate limit error has the provider’s retry time`, async () => {
    await using provider = await startProvider({ answers: [{ fault: 'rate_limit', retryAfterMs: 42_000 }] });
    const before = Date.now();
    const { retryAt = 0 } = await failureOf(connect(provider).generate(ask([user])));
    expect(retryAt - before).toBeGreaterThanOrEqual(41_000);
    expect(retryAt - before).toBeLessThan(60_000);
  });

  const answer = { text: 'A sentence in several pieces, so that it can be cut.' };
  it.each<[string, Fault]>([
    ['an HTML page', { fault: 'garbage', as: 'page' }],
    ['unrelated JSON', { fault: 'garbage', as: 'json' }],
    ['an event that is not JSON', { fault: 'garbage', as: 'event' }],
    ['a lost connection', { fault: 'reset' }],
    ['a stream that is cut off', { fault: 'cut', answer, afterEvents: 3 }],
    ['a stream that ends early without an error', { fault: 'cut', answer, afterEvents: 3, isOrderly: true }],
  ])(
    `a ${name} model call fails if the response is %s, with an error of the kind retry that quotes no contents`,
    async (_, fault) => {
      await using provider = await startProvider({ answers: [fault] });
      const error = await failureOf(connect(provider).generate(ask([user])));
      expect(error.kind).toBe('retry');
      expect(error.message).not.toMatch(/html|sentence/);
    },
  );

  it(`a ${name} model returns the whole answer even if its pieces come slowly`, async () => {
    await using provider = await startProvider({ answers: [{ fault: 'slow', answer, delayMs: 5 }] });
    expect((await connect(provider).generate(ask([user]))).content).toBe(answer.text);
  });

  it(`a ${name} model call throws as soon as its signal aborts`, async () => {
    await using provider = await startProvider({ answers: [{ fault: 'hang', answer, afterEvents: 2 }] });
    const stop = new AbortController();
    const answered = connect(provider).generate(ask([user], { signal: stop.signal }));
    await expect.poll(() => provider.requests.length).toBe(1);
    stop.abort(new Error('the lease is lost'));
    await expect(answered).rejects.toThrow('the lease is lost');
  });

  it(`a ${name} model does not send a request that breaks a wire rule`, async () => {
    await using provider = await startProvider({ answers: [] });
    const model = connect(provider);
    const error = await failureOf(model.generate(ask([user, { role: 'assistant', content: 'So.' }])));
    expect(error).toMatchObject({ kind: 'invalid', code: expect.stringContaining('X4') as string });
    const large = connect(provider, { profile: { ...PROFILE, maxRequestBytes: 10_000 } });
    const overflow = await failureOf(large.generate(ask([{ role: 'user', content: 'x'.repeat(10_000) }])));
    expect(overflow).toMatchObject({ kind: 'overflow', code: 'X9' });
    expect(provider.requests).toHaveLength(0);
  });

  it(`a ${name} request limits its output to the tokens that are left in the window`, async () => {
    await using provider = await startProvider({ answers: () => ({ text: 'Yes.' }) });
    const model = connect(provider, { profile: { ...PROFILE, windowTokens: 20_000, outputCapTokens: 64_000 } });
    const caps: unknown[] = [];
    for (const [tokens, maxOutputTokens] of [[1_000], [10_000], [1_000, 300]] as const) {
      await model.generate(ask([user], { tokens, ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }) }));
      const body = provider.requests.at(-1)?.body ?? {};
      const gemini = body['generationConfig'] as { readonly maxOutputTokens?: number } | undefined;
      const cap = body['max_tokens'] ?? body['max_completion_tokens'] ?? body['max_output_tokens'];
      caps.push(cap ?? gemini?.maxOutputTokens);
    }
    expect(caps).toEqual([18_900, 9_000, 300]);
  });
}
