import { expect, test } from 'vitest';
import { z } from 'zod';
import { boundedRecord } from '../../src/domain/bounded-schemas.ts';

const schema = boundedRecord(z.string().min(1, 'expected a text').max(4), z.string(), 2);

const messagesOf = (given: unknown): string[] | undefined =>
  schema.safeParse(given).error?.issues.map(({ message }) => message);

test('a bounded record accepts members up to its limit', () => {
  expect(schema.parse({ a: '1', b: '2' })).toEqual({ a: '1', b: '2' });
});

test.each<[string, unknown, RegExp]>([
  ['too many members', { a: '', b: '', c: '' }, /^expected at most 2 members$/],
  ['a name that its schema refuses', { '': '' }, /^name of a member: expected a text$/],
  ['a name that is too long', { abcde: '' }, /^name of a member: .*4/],
  ['a value of another type', { a: 1 }, /expected string/],
  ['a value that is no record', 5, /expected record/],
])('a bounded record refuses %s with a message that says so', (_, given, message) => {
  expect(messagesOf(given)?.[0]).toMatch(message);
});
