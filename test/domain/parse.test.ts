import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ERROR_CODES, isTurnfoldError, TurnfoldError } from '../../src/domain/errors.ts';
import { callIdAt, idSchema, seqOfCallId } from '../../src/domain/ids.ts';
import { messageSchema } from '../../src/domain/message.ts';
import { parseInput } from '../../src/domain/parse.ts';
import { errorOf } from './error-of.ts';

const schema = z.strictObject({ messages: z.array(messageSchema), when: z.number().optional() });
const user = { role: 'user', content: 'hi' };

describe('an input', () => {
  test('refuses bytes without listing a key per byte', () => {
    let reads = 0;
    const watched = z.unknown().transform((value) => {
      reads += 1;
      return value;
    });
    expect(errorOf(() => parseInput(watched, new Uint8Array(5_000_000), 'input'))).toMatchObject({
      code: 'invalid_input',
      details: undefined,
    });
    expect(reads).toBe(0);
  });

  test.each<{ value: unknown; at?: string; field: string }>([
    { value: { messages: [user, { role: 'robot', content: '' }] }, field: 'messages[1].role' },
    { value: { messages: [user] }, at: 'body', field: '' },
    { value: { messages: [{ ...user, content: 7 }] }, at: 'body', field: 'body.messages[0].content' },
    {
      value: { messages: [{ role: 'assistant', content: '', toolCalls: [{ id: '', name: 'x', arguments: '' }] }] },
      field: 'messages[0].toolCalls[0].id',
    },
    { value: { messages: [{ role: 'assistant', content: '', toolCalls: [] }] }, field: 'messages[0].toolCalls' },
    { value: { messages: [{ ...user, summary: { from: 0, to: 1 } }] }, field: 'messages[0].summary.from' },
    { value: { messages: [], colour: 'blue' }, field: 'colour' },
    { value: { messages: [], colour: 'blue' }, at: 'body', field: 'body.colour' },
    { value: 'text', field: '' },
    { value: [], at: 'body', field: 'body' },
  ])('$field is named', ({ value, at, field }) => {
    if (field === '' && at !== undefined) {
      expect(parseInput(schema, value, at)).toStrictEqual(value);
      return;
    }
    const error = errorOf(() => parseInput(schema, value, at));
    expect(error).toMatchObject({ code: 'invalid_input', field });
    expect(error.message.startsWith(`${field === '' ? 'input' : field}: `)).toBe(true);
  });

  test('the code can be chosen, and the path may start with an index', () => {
    const error = errorOf(() => parseInput(z.array(z.number()), [1, 'x'], '', 'invalid_config'));
    expect(error).toMatchObject({ code: 'invalid_config', field: '[1]' });
  });

  test.each(['a', 'A_z.9-', 'x'.repeat(128)])('%s is an id', (id) => {
    expect(parseInput(idSchema, id)).toBe(id);
  });

  test.each(['', 'a:b', 'a b', 'ü', 'x'.repeat(129), 'a\n'])('%j is not an id', (id) => {
    expect(errorOf(() => parseInput(idSchema, id, 'turn')).field).toBe('turn');
  });

  test('a call id of the log contains its seq', () => {
    expect(callIdAt(412, 3)).toBe('c412_3');
    expect(seqOfCallId(callIdAt(412, 3))).toBe(412);
  });
});

describe('coded errors', () => {
  test('keep code, field, details and cause, and print only safe fields', () => {
    const cause = new Error('socket closed');
    const error = new TurnfoldError('conflict', 'head is 7', { field: 'expectedHead', details: { head: 7 }, cause });
    expect(error).toMatchObject({ name: 'TurnfoldError', code: 'conflict', field: 'expectedHead', cause });
    expect(JSON.parse(JSON.stringify(error))).toStrictEqual({
      code: 'conflict',
      message: 'head is 7',
      field: 'expectedHead',
      details: { head: 7 },
    });
    expect(JSON.parse(JSON.stringify(new TurnfoldError('gone', 'erased')))).toStrictEqual({
      code: 'gone',
      message: 'erased',
    });
  });

  test('are distinguished from other errors, and by their codes', () => {
    const error = new TurnfoldError('gone', 'erased');
    expect(isTurnfoldError(error)).toBe(true);
    expect(isTurnfoldError(error, 'gone')).toBe(true);
    expect(isTurnfoldError(error, 'fenced')).toBe(false);
    expect(isTurnfoldError(new Error('erased'))).toBe(false);
    expect(error.cause).toBeUndefined();
  });

  test('each code states whom it concerns', () => {
    expect(new Set(Object.values(ERROR_CODES))).toStrictEqual(new Set(['caller', 'worker', 'turn', 'service']));
  });
});
