import { describe, expect, it } from 'vitest';
import { MAX_CONTEXT_BYTES, readTurnContext, writeTurnContext } from '../../src/domain/turn-context.ts';
import { errorOf } from './error-of.ts';

describe('the context of a turn', () => {
  it('writeContext sorts the keys, so that equal context data of turns has the same JSON', () => {
    const json = writeTurnContext({ b: [{ d: 1, c: null }], a: 'x' });
    expect(json).toBe('{"a":"x","b":[{"c":null,"d":1}]}');
    expect(json).toBe(writeTurnContext({ a: 'x', b: [{ c: null, d: 1 }] }));
    expect(readTurnContext(json)).toEqual({ a: 'x', b: [{ c: null, d: 1 }] });
  });

  it('readContext returns an empty context if the caller attached no data', () => {
    expect(readTurnContext(undefined)).toEqual({});
  });

  it.each<[string, unknown, string]>([
    ['a list', [1], 'invalid_input'],
    ['a text', 'x', 'invalid_input'],
    ['a BigInt', { a: 1n }, 'invalid_input'],
    ['more bytes than a context may have', { a: 'é'.repeat(MAX_CONTEXT_BYTES - 20) }, 'message_too_large'],
  ])('writeContext refuses %s and names the field', (_, context, code) => {
    const error = errorOf(() => writeTurnContext(context));
    expect(error.code).toBe(code);
    expect(error.field).toMatch(/^context/);
  });
});
