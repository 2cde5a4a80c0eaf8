import { expect, it } from 'vitest';
import { type Model, ModelError, type ModelProfile } from '../../src/domain/model.ts';
import { modelChain } from '../../src/models/chain.ts';
import { SCRIPTED_PROFILE, scriptedModel } from '../../src/models/scripted.ts';
import { ask } from './fixture.ts';

const user = { role: 'user', content: 'Hi' } as const;

function says(
  answer: string | ModelError,
  profile: Partial<ModelProfile> = {},
): Model & { readonly callCount: number } {
  return scriptedModel({ profile, decide: () => (typeof answer === 'string' ? { content: answer } : answer) });
}

it.each([new ModelError('retry', 'overloaded'), new ModelError('fatal', 'the key is not accepted')])(
  'passes over a model that cannot answer now: $message',
  async (failure) => {
    const chain = modelChain([says(failure), says('second')]);
    expect((await chain.generate(ask([user]))).content).toBe('second');
  },
);

it('asks the first one first, and no other where it answers', async () => {
  const second = says('second');
  expect((await modelChain([says('first'), second]).generate(ask([user]))).content).toBe('first');
  expect(second.callCount).toBe(0);
});

it.each(['overflow', 'invalid'] as const)('tells of what is the request’s own: %s', async (kind) => {
  const second = says('second');
  const chain = modelChain([says(new ModelError(kind, 'no')), second]);
  await expect(chain.generate(ask([user]))).rejects.toMatchObject({ kind });
  expect(second.callCount).toBe(0);
});

it('tells the soonest time to come back where all fail', async () => {
  const chain = modelChain([
    says(new ModelError('retry', 'limit', { retryAt: 9_000 })),
    says(new ModelError('retry', 'limit', { retryAt: 5_000 })),
    says(new ModelError('fatal', 'no key')),
  ]);
  await expect(chain.generate(ask([user]))).rejects.toMatchObject({ kind: 'retry', retryAt: 5_000 });
  const dead = modelChain([says(new ModelError('fatal', 'a')), says(new ModelError('fatal', 'b'))]);
  await expect(dead.generate(ask([user]))).rejects.toMatchObject({ kind: 'fatal', message: 'b' });
});

it('names who answered, in a chain of chains as well', async () => {
  const failing = says(new ModelError('retry', 'overloaded'), { id: 'a' });
  const inner = modelChain([failing, says('second', { id: 'b' })]);
  expect(await inner.generate(ask([user]))).toMatchObject({ content: 'second', model: 'b' });
  expect(await modelChain([failing, inner]).generate(ask([user]))).toMatchObject({ model: 'b' });
});

it('costs what the dearest of them costs, where all say it', () => {
  const cheap = { input: 1, cachedInput: 0.5, cacheWrite: 1, output: 9 };
  const dear = { input: 2, cachedInput: 0.1, cacheWrite: 3, output: 8 };
  const { profile } = modelChain([says('', { prices: cheap }), says('', { prices: dear })]);
  expect(profile.prices).toStrictEqual({ input: 2, cachedInput: 0.5, cacheWrite: 3, output: 9 });
  expect(modelChain([says('', { prices: cheap }), says('')]).profile).not.toHaveProperty('prices');
});

it('throws what is no model’s failure', async () => {
  const broken: Model = { profile: SCRIPTED_PROFILE, generate: () => Promise.reject(new TypeError('a bug')) };
  await expect(modelChain([broken, says('second')]).generate(ask([user]))).rejects.toThrow('a bug');
});

it('promises no more than each of them holds', () => {
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
