import { expect, test } from 'vitest';
import type { ModelGate } from '../../src/domain/gate.ts';
import { findGate, HeldCall, isHeldBack, isHeldCall } from '../../src/domain/held-call.ts';
import { type Model, ModelError } from '../../src/domain/model.ts';
import { readModelError } from '../../src/domain/model-answer.ts';

const profile = { id: 'm', encoding: 'o200k_base', windowTokens: 1, outputCapTokens: 1, upperBoundFactor: 1 } as const;
const model: Model = { profile, generate: async () => ({ content: '', toolCalls: [] }) };
const closed: ModelGate = {
  pass: async ({ profile: { id } }) => {
    throw new HeldCall(id, 5_000);
  },
};

test('a model call that a rate-limit gate held back is a `retry` error that says the call was not made', () => {
  const held = new HeldCall('m', 5_000);
  expect(held).toMatchObject({ kind: 'retry', retryAt: 5_000, isLimit: true, wasCalled: false });
  expect(held.message).toContain('model m');
  expect([isHeldCall(held), isHeldBack(held)]).toEqual([true, true]);
});

test('a model call that the provider refused keeps the message and code of the refusal, and gets the retry time of the rate-limit gate', () => {
  const refusal = new ModelError('retry', 'rate limited (429)', { code: 'rate_limit', retryAt: 1_000 });
  const held = new HeldCall('m', 5_000, refusal);
  expect(held).toMatchObject({ message: 'rate limited (429)', code: 'rate_limit', retryAt: 5_000, wasCalled: true });
  expect(isHeldBack(held)).toBe(false);
  expect(readModelError(held, 0)).toBe(held);
});

test('isHeldCall and isHeldBack return false for every other error, even one that throws when it is read', () => {
  const hostile = new Proxy(new Error('no'), {
    get: () => {
      throw new Error('never');
    },
  });
  for (const error of [new ModelError('retry', 'busy'), { wasCalled: false }, undefined, hostile]) {
    expect([isHeldCall(error), isHeldBack(error)]).toEqual([false, false]);
  }
});

test('a retry error counts as a rate limit if it sets `isLimit` or a retry time', () => {
  expect(new ModelError('retry', 'busy').isLimit).toBe(false);
  expect(new ModelError('retry', 'busy', { retryAt: 1 }).isLimit).toBe(true);
  expect(new ModelError('retry', 'busy', { isLimit: true }).isLimit).toBe(true);
  expect(new ModelError('fatal', 'no', { isLimit: true }).isLimit).toBe(false);
  expect(readModelError(new ModelError('retry', 'busy', { isLimit: true }), 0).isLimit).toBe(true);
});

test('a model call passes the rate-limit gate of its own model, and a model chain has no gate of its own', () => {
  expect(findGate({ gate: closed }, model)).toBe(closed);
  expect(findGate({ gate: closed }, { ...model, fallbacks: [model] })).toBeUndefined();
});
