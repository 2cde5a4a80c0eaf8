import { expect, test } from 'vitest';
import { CallData, idOfData, NOTE_LIMITS, PRELIMINARY_OUTPUT, readProgress } from '../../src/domain/tool-notes.ts';
import { errorOf } from './error-of.ts';

test.each<[string, unknown, unknown]>([
  ['a plain text', 'Reads files', { text: 'Reads files' }],
  ['all three fields', { text: 'Reads', done: 1, total: 3 }, { text: 'Reads', done: 1, total: 3 }],
  ['the amount done only, even zero', { done: 0 }, { done: 0 }],
  ['the total only', { total: 3 }, { total: 3 }],
  ['an object with an undefined field, which is left out', { text: undefined, done: 2 }, { done: 2 }],
  ['a text above the limit, which is cut', 'x'.repeat(1_001), { text: 'x'.repeat(NOTE_LIMITS.progressCharacters) }],
])('progress of a tool may be %s', (_, given, expected) => {
  expect(readProgress(given)).toStrictEqual(expected);
});

test.each<[string, unknown]>([
  ['an empty object', {}],
  ['an object whose only field is undefined', { text: undefined }],
  ['an object with an unknown field', { done: 1, percent: 50 }],
  ['an infinite amount', { done: Number.POSITIVE_INFINITY }],
  ['a text that is a number', { text: 1 }],
  ['null', null],
])('progress of a tool is refused as invalid if it is %s', (_, given) => {
  expect(errorOf(() => readProgress(given))).toMatchObject({ code: 'invalid_input' });
});

test('a value that a tool emits replaces the earlier value of the same name and key only', () => {
  const notes = new CallData();
  notes.put('rows', 1);
  notes.put('rows', 2, 'first');
  notes.put('rows', 3);
  expect(notes.values).toStrictEqual([
    { name: 'rows', data: 3 },
    { name: 'rows', key: 'first', data: 2 },
  ]);
});

test('a kept value does not change when the tool changes its own object later', () => {
  const notes = new CallData();
  const list = [1];
  expect(notes.put('rows', list)).toStrictEqual({ name: 'rows', data: [1] });
  list.push(2);
  expect(notes.values).toStrictEqual([{ name: 'rows', data: [1] }]);
});

test('preliminary outputs are returned to the caller but not kept for the log', () => {
  const notes = new CallData();
  notes.put('rows', 1);
  expect(notes.put(PRELIMINARY_OUTPUT, 2)).toStrictEqual({ name: PRELIMINARY_OUTPUT, data: 2 });
  expect(notes.values).toStrictEqual([{ name: 'rows', data: 1 }]);
});

test.each<[string, string, readonly [name: unknown, data: unknown, key?: unknown]]>([
  ['a name that is no text', 'emit.name', [1, 0, undefined]],
  ['an empty name', 'emit.name', ['', 0, undefined]],
  ['a name with a space', 'emit.name', ['two words', 0, undefined]],
  ['a name of 65 characters', 'emit.name', ['n'.repeat(65), 0, undefined]],
  ['a name that protocols use themselves', 'emit.name', ['progress', 0, undefined]],
  ['a key that is no text', 'emit.key', ['rows', 0, 1]],
  ['an empty key', 'emit.key', ['rows', 0, '']],
  ['a key of 65 characters', 'emit.key', ['rows', 0, 'k'.repeat(65)]],
  ['data that JSON cannot represent', 'emit.data', ['rows', undefined, undefined]],
])('a tool cannot emit a value with %s, and the error names %s', (_, field, [name, data, key]) => {
  const notes = new CallData();
  expect(errorOf(() => notes.put(name, data, key))).toMatchObject({ code: 'invalid_input', field });
  expect(notes.values).toEqual([]);
});

test('names and keys of 64 characters are accepted', () => {
  const value = { name: 'n'.repeat(64), key: 'k'.repeat(64), data: null };
  expect(new CallData().put(value.name, value.data, value.key)).toStrictEqual(value);
});

test('one value above the limit of characters is refused as too large', () => {
  const put = (characters: number) => new CallData().put('rows', 'x'.repeat(characters - '""'.length));
  expect(() => put(NOTE_LIMITS.valueCharacters)).not.toThrow();
  const error = errorOf(() => put(NOTE_LIMITS.valueCharacters + 1));
  expect(error).toMatchObject({ code: 'message_too_large', field: 'emit.data' });
});

test('the values of one call share a limit of characters, in which a replaced value no longer counts', () => {
  const notes = new CallData();
  const large = 'x'.repeat(16_000);
  for (const name of ['a', 'b', 'c', 'd']) notes.put(name, large);
  expect(errorOf(() => notes.put('e', large))).toMatchObject({ code: 'message_too_large', field: 'emit.data' });
  notes.put('a', large);
  notes.put('a', 'small');
  notes.put('e', large);
  expect(notes.values.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('one call emits a limited number of names and keys, but may replace their values without end', () => {
  const notes = new CallData();
  for (let key = 0; key < NOTE_LIMITS.values; key += 1) notes.put('rows', key, `${key}`);
  expect(errorOf(() => notes.put('rows', 0))).toMatchObject({ code: 'message_too_large', field: 'emit.key' });
  notes.put('rows', 'replaced', '0');
  expect(notes.values).toHaveLength(NOTE_LIMITS.values);
  expect(notes.values[0]).toStrictEqual({ name: 'rows', key: '0', data: 'replaced' });
});

test('the id of an emitted value is its name, followed by its key if it has one', () => {
  expect(idOfData({ name: 'rows' })).toBe('rows');
  expect(idOfData({ name: 'rows', key: 'first' })).toBe('rows/first');
});
