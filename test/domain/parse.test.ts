import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ERROR_CODES, isTurnfoldError, TurnfoldError } from '../../src/domain/errors.ts';
import { callIdAt, idSchema, seqOfCallId } from '../../src/domain/ids.ts';
import { messageSchema } from '../../src/domain/message.ts';
import { parseInput, safeParse } from '../../src/domain/parse.ts';
import { errorOf } from './error-of.ts';

const schema = z.strictObject({ messages: z.array(messageSchema), when: z.number().optional() });
const user = { role: 'user', content: 'hi' };

describe('an input', () => {
  test('parseInput refuses binary data before the schema reads it', () => {
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
  ])('parseInput refuses the input $value and names the field "$field"', ({ value, at, field }) => {
    const error = errorOf(() => parseInput(schema, value, at));
    expect(error).toMatchObject({ code: 'invalid_input', field });
    expect(error.message.startsWith(`${field === '' ? 'input' : field}: `)).toBe(true);
  });

  test('parseInput uses the error code that its caller passes, and accepts a field path that starts with an index', () => {
    expect(parseInput(schema, { messages: [user] }, 'body')).toStrictEqual({ messages: [user] });
    const error = errorOf(() => parseInput(z.array(z.number()), [1, 'x'], '', 'invalid_config'));
    expect(error).toMatchObject({ code: 'invalid_config', field: '[1]' });
  });

  test.each(['a', 'A_z.9-', 'x'.repeat(128)])('the id schema accepts %s', (id) => {
    expect(parseInput(idSchema, id)).toBe(id);
  });

  test.each(['', 'a:b', 'a b', 'ü', 'x'.repeat(129), 'a\n'])('the id schema refuses %j', (id) => {
    expect(errorOf(() => parseInput(idSchema, id, 'turn')).field).toBe('turn');
  });

  test('the id of a tool call in the log contains the sequence number of its message', () => {
    expect(callIdAt(412, 3)).toBe('c412_3');
    expect(seqOfCallId(callIdAt(412, 3))).toBe(412);
  });
});

describe('coded errors', () => {
  test('a TurnfoldError keeps code, field, details and cause, and its JSON omits the cause', () => {
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

  test('isTurnfoldError recognizes errors of this package, and filters them by code', () => {
    const error = new TurnfoldError('gone', 'erased');
    expect(isTurnfoldError(error)).toBe(true);
    expect(isTurnfoldError(error, 'gone')).toBe(true);
    expect(isTurnfoldError(error, 'fenced')).toBe(false);
    expect(isTurnfoldError(new Error('erased'))).toBe(false);
    expect(error.cause).toBeUndefined();
  });

  test('each error code of turnfold states who must act: caller, worker, agent or operator', () => {
    expect(new Set(Object.values(ERROR_CODES))).toStrictEqual(new Set(['caller', 'worker', 'turn', 'service']));
  });
});

test('safeParse names binary data and a property that throws, with and without a path of the value', () => {
  const named = z.object({ list: z.array(z.object({ name: z.string() })) });
  const broken = {
    list: [
      {
        get name(): string {
          throw new RangeError('no');
        },
      },
    ],
  };
  const messageOf = (value: unknown, at: string): string | undefined => {
    const parsed = safeParse(named, value, { at, code: 'invalid_input' });
    return parsed.success ? undefined : parsed.problems[0]?.message;
  };
  expect(messageOf(new Uint8Array(2), '')).toBe('input: expected an object or a string, got binary data');
  expect(messageOf(new Uint8Array(2), 'turn')).toBe('turn: expected an object or a string, got binary data');
  expect(messageOf(broken, 'turn')).toBe('turn.list[0].name: cannot be read: reading it threw RangeError');
  expect(messageOf(broken, '')).toBe('list[0].name: cannot be read: reading it threw RangeError');
  const shared = { name: 'a' };
  expect(messageOf({ list: [shared, shared, ...broken.list] }, '')).toContain('list[2].name: cannot be read');
  expect(messageOf({ list: [shared] }, '')).toBeUndefined();
});
