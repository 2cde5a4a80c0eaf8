import { describe, expect, it } from 'vitest';
import {
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelProfile,
  type ModelRequest,
} from '../../src/domain/model.ts';
import { WIRE_FORMATS, type WireFormat } from '../../src/domain/raw-items.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { SCRIPTED_PROFILE, scriptedModel } from '../../src/providers/scripted.ts';
import { ManualTimers, settleTasks } from '../workers/turn/manual-timers.ts';
import { ask, connect } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

const user = { role: 'user', content: 'Hi' } as const;

function says(
  answer: string | ModelError,
  profile: Partial<ModelProfile> = {},
): Model & { readonly callCount: number } {
  return scriptedModel({ profile, decide: () => (typeof answer === 'string' ? { content: answer } : answer) });
}

it.each([new ModelError('retry', 'overloaded'), new ModelError('fatal', 'the key is not accepted')])(
  'a model chain calls its next model if the first one fails with: $message',
  async (failure) => {
    const chain = modelChain([says(failure), says('second')]);
    expect((await chain.generate(ask([user]))).content).toBe('second');
  },
);

it('a model chain reports each failed model that it skips, with the kind of its error, but not the last model', async () => {
  const passed: (readonly [string, string])[] = [];
  const onPassedOver = (model: string, why: string): void => void passed.push([model, why]);
  const limited = says(new ModelError('retry', 'limit'), { id: 'a' });
  const keyless = says(new ModelError('fatal', 'no key'), { id: 'b' });
  const chain = modelChain([limited, modelChain([keyless, says('third', { id: 'c' })])]);
  await chain.generate({ ...ask([user]), onPassedOver });
  await expect(modelChain([limited, keyless]).generate({ ...ask([user]), onPassedOver })).rejects.toThrow('limit');
  expect(passed).toEqual([
    ['a', 'retry'],
    ['b', 'fatal'],
    ['a', 'retry'],
  ]);
});

it('a model chain calls no other model if the first one answers', async () => {
  const second = says('second');
  expect((await modelChain([says('first'), second]).generate(ask([user]))).content).toBe('first');
  expect(second.callCount).toBe(0);
});

it.each(['overflow', 'invalid'] as const)(
  'a model chain fails without calling the next model if a provider refuses the request as %s',
  async (kind) => {
    const second = says('second');
    const chain = modelChain([says(new ModelError(kind, 'no')), second]);
    await expect(chain.generate(ask([user]))).rejects.toMatchObject({ kind });
    expect(second.callCount).toBe(0);
  },
);

it('a model chain whose models all fail throws an error with the earliest retry time', async () => {
  const chain = modelChain([
    says(new ModelError('retry', 'limit', { retryAt: 9_000 })),
    says(new ModelError('retry', 'limit', { retryAt: 5_000 })),
    says(new ModelError('fatal', 'no key')),
  ]);
  await expect(chain.generate(ask([user]))).rejects.toMatchObject({ kind: 'retry', retryAt: 5_000 });
  const dead = modelChain([says(new ModelError('fatal', 'a')), says(new ModelError('fatal', 'b'))]);
  await expect(dead.generate(ask([user]))).rejects.toMatchObject({ kind: 'fatal', message: 'b' });
});

it('a model chain throws an error without a retry time if one model’s error has no retry time, because that model may recover first', async () => {
  const overloaded = says(new ModelError('retry', 'overloaded'));
  const limited = says(new ModelError('retry', 'limit', { retryAt: Date.now() + 3_600_000 }));
  for (const models of [[overloaded, limited] as const, [limited, overloaded] as const]) {
    const failure = await failureOf(modelChain(models).generate(ask([user])));
    expect(failure).toMatchObject({ kind: 'retry', message: 'overloaded', retryAt: undefined });
  }
});

it('the answer of a model chain contains the id of the model that answered, even in a chain of chains', async () => {
  const failing = says(new ModelError('retry', 'overloaded'), { id: 'a' });
  const inner = modelChain([failing, says('second', { id: 'b' })]);
  expect(await inner.generate(ask([user]))).toMatchObject({ content: 'second', model: 'b' });
  expect(await modelChain([failing, inner]).generate(ask([user]))).toMatchObject({ model: 'b' });
});

it('a model chain has the highest prices of its models, if all models have prices', () => {
  const cheap = { input: 1, cachedInput: 0.5, cacheWrite: 1, output: 9 };
  const dear = { input: 2, cachedInput: 0.1, cacheWrite: 3, output: 8 };
  const { profile } = modelChain([says('', { prices: cheap }), says('', { prices: dear })]);
  expect(profile.prices).toStrictEqual({ input: 2, cachedInput: 0.5, cacheWrite: 3, output: 9 });
  expect(modelChain([says('', { prices: cheap }), says('')]).profile).not.toHaveProperty('prices');
});

it('a model chain rethrows an error that is a bug, without calling the next model', async () => {
  const broken: Model = { profile: SCRIPTED_PROFILE, generate: () => Promise.reject(new TypeError('a bug')) };
  await expect(modelChain([broken, says('second')]).generate(ask([user]))).rejects.toThrow('a bug');
});

it('the profile of a model chain has only limits that every model can meet', () => {
  const { profile } = modelChain([
    says('', { id: 'a', windowTokens: 200_000, outputCapTokens: 8_000, maxRequestBytes: 9, format: 'anthropic' }),
    says('', { id: 'b', windowTokens: 100_000, outputCapTokens: 9_000, upperBoundFactor: 1.3, format: 'openai-chat' }),
  ]);
  expect(profile).toStrictEqual({
    id: 'a|b',
    encoding: 'o200k_base',
    windowTokens: 100_000,
    outputCapTokens: 8_000,
    upperBoundFactor: 1.3,
    maxRequestBytes: 9,
  });
  const same = modelChain([says('', { format: 'anthropic' }), says('', { format: 'anthropic' })]);
  expect(same.profile.format).toBe('anthropic');
});

describe('a model that hangs', () => {
  interface OpenCall {
    readonly request: ModelRequest;
    readonly answer: PromiseWithResolvers<ModelAnswer>;
  }

  /** A model that answers when the test says so, and ignores its abort signal. */
  function deaf(): Model & { readonly calls: readonly OpenCall[] } {
    const calls: OpenCall[] = [];
    return {
      profile: SCRIPTED_PROFILE,
      calls,
      generate(request) {
        const answer = Promise.withResolvers<ModelAnswer>();
        calls.push({ request, answer });
        return answer.promise;
      },
    };
  }

  it('a model chain skips a model that sends nothing for 120 s, and aborts its call', async () => {
    const [timers, first, { signal }] = [new ManualTimers(), deaf(), new AbortController()];
    const answered = modelChain([first, says('second')], { timers }).generate(ask([user], { signal }));
    await timers.advance(119_999);
    expect(first.calls[0]?.request.signal.aborted).toBe(false);
    await timers.advance(1);
    expect((await answered).content).toBe('second');
    expect(first.calls[0]?.request.signal.aborted).toBe(true);
    expect(signal.aborted).toBe(false);
    expect(timers.pending).toBe(0);
  });

  it('a model chain waits `firstEventMs` for a model that sends nothing', async () => {
    const timers = new ManualTimers();
    const answered = modelChain([deaf(), says('second')], { timers, firstEventMs: 5_000 }).generate(ask([user]));
    await timers.advance(5_000);
    expect((await answered).content).toBe('second');
  });

  it('a model chain fails with an error of the kind `retry` if its first model sends nothing and the others fail permanently', async () => {
    const timers = new ManualTimers();
    const chain = modelChain([deaf(), says(new ModelError('fatal', 'no key'))], { timers });
    const failed = failureOf(chain.generate(ask([user])));
    await timers.advance(120_000);
    expect(await failed).toMatchObject({ kind: 'retry', message: 'the model sent nothing within 120000 ms' });
  });

  it('a model that its chain has skipped can no longer stream text to the caller', async () => {
    const [timers, first] = [new ManualTimers(), deaf()];
    const texts: string[] = [];
    const onText = (piece: string): void => void texts.push(piece);
    const answered = modelChain([first, says('second')], { timers }).generate(ask([user], { onText }));
    await timers.advance(120_000);
    await answered;
    first.calls[0]?.request.onText?.('late');
    expect(texts.join('')).not.toContain('late');
  });

  it('the last model of a chain may send nothing until the caller’s deadline', async () => {
    const [timers, last, stop] = [new ManualTimers(), deaf(), new AbortController()];
    const chain = modelChain([says(new ModelError('retry', 'overloaded')), last], { timers });
    const answered = chain.generate(ask([user], { signal: stop.signal }));
    await settleTasks();
    expect(timers.pending).toBe(0);
    last.calls[0]?.answer.resolve({ content: 'at last', toolCalls: [] });
    expect((await answered).content).toBe('at last');
  });

  it('a model chain calls no other model after its caller has aborted the call', async () => {
    const [timers, second, stop] = [new ManualTimers(), says('second'), new AbortController()];
    const answered = modelChain([deaf(), second], { timers }).generate(ask([user], { signal: stop.signal }));
    const failed = failureOf(answered);
    stop.abort(new Error('the lease is lost'));
    expect(await failed).toMatchObject({ message: 'the lease is lost' });
    expect([second.callCount, timers.pending]).toEqual([0, 0]);
  });

  it('a model chain waits without a limit for a model that has sent its first text', async () => {
    const [timers, first] = [new ManualTimers(), deaf()];
    let text = '';
    const onText = (piece: string): void => void (text += piece);
    const answered = modelChain([first, says('second')], { timers }).generate(ask([user], { onText }));
    first.calls[0]?.request.onText?.('So');
    await timers.advance(3_600_000);
    first.calls[0]?.answer.resolve({ content: 'So.', toolCalls: [] });
    expect((await answered).content).toBe('So.');
    expect(text).toBe('So');
  });

  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'm', type: 'message', role: 'assistant', content: [], stop_reason: null, usage };
  /** Streams that start with an event without text, as when a model thinks first. */
  const streams: Readonly<Record<WireFormat, readonly object[]>> = {
    anthropic: [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'So.' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ],
    'openai-chat': [
      { id: 'c', choices: [{ index: 0, delta: { role: 'assistant' } }] },
      { id: 'c', choices: [{ index: 0, delta: { content: 'So.' }, finish_reason: 'stop' }] },
    ],
    'openai-responses': [
      { type: 'response.created', response: {} },
      {
        type: 'response.completed',
        response: { output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] }] },
      },
    ],
  };
  it.each(WIRE_FORMATS)(
    'a model chain waits without a limit for a %s model that thinks before its first text',
    async (format) => {
      const end = Promise.withResolvers<void>();
      await using server = await serveRaw({ body: streams[format], until: end.promise });
      const [timers, second] = [new ManualTimers(), says('second')];
      const answered = modelChain([connect(format, server), second], { timers }).generate(ask([user]));
      expect(timers.pending).toBe(1);
      await expect.poll(() => timers.pending).toBe(0);
      await timers.advance(3_600_000);
      end.resolve();
      expect(await answered).toMatchObject({ model: 'model-1', content: 'So.' });
      expect(second.callCount).toBe(0);
    },
  );
});
