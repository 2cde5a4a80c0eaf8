import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput } from '../../src/domain/parse.ts';
import { errorOf } from './error-of.ts';

const explain = (schema: z.ZodType, value: unknown) => errorOf(() => parseInput(schema, value, 'at'));

test.each<[string, z.ZodType, unknown, string]>([
  ['a missing value', z.string(), undefined, 'at: expected text, and got nothing'],
  ['a number in place of text', z.string(), 7, 'at: expected text'],
  ['a number that is none', z.number(), Number.NaN, 'at: expected a number'],
  ['a fraction', z.number().int(), 1.5, 'at: expected a whole number'],
  ['a number below its bound', z.number().min(1), 0, 'at: expected a number of at least 1'],
  ['a number on an exclusive bound', z.number().positive(), 0, 'at: expected a number of more than 0'],
  ['a number above its bound', z.number().max(1_000), 1_001, 'at: expected a number of at most 1000'],
  ['an empty text', z.string().min(1), '', 'at: expected at least 1 character'],
  ['a long text', z.string().max(3), 'long', 'at: expected at most 3 characters'],
  ['an empty list', z.array(z.string()).min(2), [], 'at: expected at least 2 items'],
  ['a value that is not listed', z.enum(['keep', 'drop']), 'x', 'at: expected one of keep, drop'],
  ['another value than the only one', z.literal('keep'), 'x', 'at: expected keep'],
  ['an object in place of a list', z.array(z.string()), {}, 'at: expected a list'],
  ['an unknown field', z.strictObject({}), { other: 1 }, 'at.other: no such field'],
  ['a value of no form', z.union([z.string(), z.number()]), true, 'at: the value has none of the allowed forms'],
])('the error for %s names the expected value', (_, schema, value, message) => {
  expect(explain(schema, value)).toMatchObject({ code: 'invalid_input', message });
});

test('a schema with a sentence of its own keeps this sentence', () => {
  expect(explain(z.string().min(1, 'name the owner'), '')).toMatchObject({ message: 'at: name the owner' });
});
