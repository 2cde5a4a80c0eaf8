import { describe, expect, test } from 'vitest';
import { MAX_CONTEXT_BYTES, writeTurnContext } from '../../src/domain/turn-context.ts';

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const deep = JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`) as unknown;

describe("validation of a turn's context", () => {
  test('writeContext encodes the context object of a turn the same for any order of its keys', () => {
    expect(writeTurnContext({ b: [1, { d: 1, c: 2 }], a: 'x' })).toBe('{"a":"x","b":[1,{"c":2,"d":1}]}');
    expect(writeTurnContext({ a: 'x', b: [1, { c: 2, d: 1 }] })).toBe('{"a":"x","b":[1,{"c":2,"d":1}]}');
  });

  test.each([
    ['a text', 'x'],
    ['a list', [1]],
    ['null', null],
    ['a cycle', cyclic],
    ['a BigInt', { id: 1n }],
    ['endless depth', deep],
  ])('writeContext refuses %s as the context of a turn with invalid_input, and names the field', (_, context) => {
    expect(() => writeTurnContext(context)).toThrow(
      expect.objectContaining({ code: 'invalid_input', field: expect.stringMatching(/^context/) as string }),
    );
  });

  test('writeContext refuses a context object of a turn above 16 KiB', () => {
    const text = 'é'.repeat((MAX_CONTEXT_BYTES - '{"a":""}'.length) / 2);
    expect(writeTurnContext({ a: text })).toHaveLength(MAX_CONTEXT_BYTES / 2 + 4);
    expect(() => writeTurnContext({ a: `${text}x` })).toThrow(
      expect.objectContaining({ code: 'message_too_large', field: 'context' }),
    );
  });
});
