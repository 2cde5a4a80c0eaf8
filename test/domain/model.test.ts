import { expect, test } from 'vitest';
import { isModelError, ModelError } from '../../src/domain/model.ts';

test('a ModelError keeps its kind, retry time, usage and cause', () => {
  const cause = new Error('429');
  const error = new ModelError('retry', 'rate limit', { retryAt: 5_000, cause });
  expect(error).toMatchObject({ name: 'ModelError', kind: 'retry', message: 'rate limit', retryAt: 5_000, cause });
  const bare = new ModelError('fatal', 'refused');
  expect(bare).toMatchObject({ kind: 'fatal', retryAt: undefined });
  expect(bare.cause).toBeUndefined();
  const usage = { inputTotal: 9, output: 3, outputKept: 3 };
  expect(new ModelError('overflow', 'too long', { usage }).usage).toBe(usage);
});

test('isModelError recognizes model errors of this package, and filters them by kind', () => {
  const error = new ModelError('retry', 'rate limit');
  expect([isModelError(error), isModelError(error, 'retry'), isModelError(error, 'fatal')]).toEqual([
    true,
    true,
    false,
  ]);
  expect([isModelError(new Error('retry')), isModelError({ kind: 'retry' }), isModelError(null)]).toEqual(
    Array(3).fill(false),
  );
});
