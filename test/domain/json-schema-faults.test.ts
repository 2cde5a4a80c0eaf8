import { expect, test } from 'vitest';
import { z } from 'zod';
import { checkJsonSchema, type JsonSchema, schemaOfJson } from '../../src/domain/json-schema.ts';

const problemsOf = (schema: unknown, value: unknown): string[] =>
  checkJsonSchema(schema, value).map(({ path, why }) => [...path, why].join(' '));

const NUMBER_OR_TEXT = [{ type: 'number' }, { type: 'string' }];
const IF_NUMBER = JSON.parse('{"if":{"type":"number"},"then":{"minimum":5},"else":{"minLength":2}}') as object;
const DEFINITIONS = { $defs: { 'a/b~c': { type: 'number' } } };

test.each<[string, unknown, unknown, string]>([
  ['any value where the schema is false', false, 1, 'expected no value here'],
  ['a number where only texts are allowed', { type: 'string' }, 1, 'expected string'],
  ['a fraction where only integers are allowed', { type: 'integer' }, 1.5, 'expected integer'],
  ['a text where two other types are allowed', { type: ['null', 'array'] }, 'a', 'expected null or array'],
  [
    'null where the schema says that null is not allowed',
    { type: 'boolean', nullable: false },
    null,
    'expected boolean',
  ],
  ['a value outside the enum', { enum: ['a', 2] }, 'b', 'expected one of ["a",2]'],
  ['a value other than the constant', { const: 'a' }, 'b', 'expected "a"'],
  ['a list that is shorter than the constant', { const: [1, 2] }, [1], 'expected [1,2]'],
  ['a list with another item than the constant', { const: [1, 2] }, [1, 3], 'expected [1,2]'],
  ['a text where the constant is a list', { const: [1] }, '1', 'expected [1]'],
  ['a text where the constant is an object', { const: { a: 1 } }, 'a', 'expected {"a":1}'],
  ['an object with more fields than the constant', { const: { a: 1 } }, { a: 1, b: 2 }, 'expected {"a":1}'],
  ['an object with another field than the constant', { const: { a: 1 } }, { b: 1 }, 'expected {"a":1}'],
  ['an object with another member than the constant', { const: { a: 1 } }, { a: 2 }, 'expected {"a":1}'],
  ['a number below the minimum', { minimum: 2 }, 1, 'expected at least 2'],
  ['a number above the maximum', { maximum: 2 }, 3, 'expected at most 2'],
  ['a number at the exclusive minimum', { exclusiveMinimum: 2 }, 2, 'expected more than 2'],
  ['a number at the exclusive maximum', { exclusiveMaximum: 2 }, 2, 'expected less than 2'],
  ['a text that is too short by code points', { minLength: 2 }, '😀', 'expected at least 2 characters'],
  ['a text that is too long', { maxLength: 1 }, 'ab', 'expected at most 1 characters'],
  ['a list with too few items', { minItems: 1 }, [], 'expected at least 1 items'],
  ['a list with too many items', { maxItems: 1 }, [1, 2], 'expected at most 1 items'],
  ['an object with too few fields', { minProperties: 1 }, {}, 'expected at least 1 fields'],
  ['an object with too many fields', { maxProperties: 0 }, { a: 1 }, 'expected at most 0 fields'],
  ['an object without a required field', { required: ['a'] }, {}, 'a is missing'],
  ['an unknown field', { properties: { a: true }, additionalProperties: false }, { b: 1 }, 'b unknown field'],
  ['a further field of a wrong type', { additionalProperties: { type: 'null' } }, { b: 1 }, 'b expected null'],
  ['a field of a wrong type', { properties: { a: { type: 'null' } } }, { a: 1 }, 'a expected null'],
  ['an item of a wrong type', { items: { type: 'null' } }, [null, 1], '1 expected null'],
  ['a first item of a wrong type', { prefixItems: [{ type: 'null' }] }, [1, 1], '0 expected null'],
  ['an item after the first ones', { prefixItems: [true], items: false }, [1, 1], '1 expected no value here'],
  ['a value that fails a part of allOf', { allOf: NUMBER_OR_TEXT }, 1, 'expected string'],
  ['a value that matches no form of anyOf', { anyOf: NUMBER_OR_TEXT }, null, 'matches none of the 2 allowed forms'],
  ['a value that matches no form of oneOf', { oneOf: NUMBER_OR_TEXT }, null, 'matches none of the 2 allowed forms'],
  ['the fault of the only form of anyOf', { anyOf: [{ type: 'null' }] }, 1, 'expected null'],
  ['a value that matches two forms of oneOf', { oneOf: [true, {}] }, 1, 'matches 2 forms of which only one is allowed'],
  ['a value that `not` excludes', { not: { type: 'number' } }, 1, 'is not allowed'],
  ['a value that meets the condition, but not `then`', IF_NUMBER, 1, 'expected at least 5'],
  ['a value that meets neither the condition nor `else`', IF_NUMBER, 'a', 'expected at least 2 characters'],
  ['a value that fails an escaped reference', { ...DEFINITIONS, $ref: '#/$defs/a~1b~0c' }, 'a', 'expected number'],
])('checkJsonSchema reports %s', (_, schema, value, problem) => {
  expect(problemsOf(schema, value)).toEqual([problem]);
});

test.each<[string, unknown, unknown]>([
  ['any value where the schema is no object', 'odd', 1],
  ['null where the schema is nullable', { type: 'string', nullable: true }, null],
  ['any value for a type that it does not know', { type: 'tuple' }, 1],
  ['one of two types', { type: ['null', 'array'] }, []],
  ['an object of the enum with its fields in another order', { enum: [{ a: 1, b: [2] }] }, { b: [2], a: 1 }],
  ['numbers between exclusive limits', { exclusiveMinimum: 1, exclusiveMaximum: 3 }, 2],
  ['a text within limits in code points', { minLength: 1, maxLength: 1 }, '😀'],
  ['a boolean whatever its size limits', { minLength: 2, minItems: 2, minProperties: 2 }, true],
  ['unknown fields where the schema has patterns', { patternProperties: {}, additionalProperties: false }, { b: 1 }],
  ['a value that matches one form of oneOf', { oneOf: NUMBER_OR_TEXT }, 1],
  ['a value that matches a form of anyOf', { anyOf: NUMBER_OR_TEXT }, 'a'],
  ['any value for an empty anyOf', { anyOf: [] }, 1],
  ['a value that `not` does not exclude', { not: { type: 'number' } }, 'a'],
  ['a value that meets a condition without `then`', { if: { type: 'number' }, else: false }, 1],
  ['any value for a reference to a part that is missing', { $ref: '#/$defs/a' }, 1],
  ['any value for a reference into a text', { title: 'a', $ref: '#/title/b' }, 1],
  ['any value for a reference into null', { default: null, $ref: '#/default/b' }, 1],
  ['any value for a reference to an anchor', { $ref: '#anchor' }, 1],
])('checkJsonSchema accepts %s', (_, schema, value) => {
  expect(problemsOf(schema, value)).toEqual([]);
});

test('checkJsonSchema reports at most ten problems', () => {
  expect(problemsOf({ items: false }, Array.from({ length: 20 }).fill(1))).toHaveLength(10);
});

const ORDER: JsonSchema = { type: 'object', properties: { sizes: { items: { type: 'integer' } } }, 'x-note': 'kept' };

test('a schema from schemaOfJson reports the path and the message of each problem', () => {
  const { error } = schemaOfJson(ORDER).safeParse({ sizes: [1, 'a'] });
  expect(error?.issues).toMatchObject([{ path: ['sizes', 1], message: 'expected integer' }]);
});

test('a schema from schemaOfJson returns a valid value unchanged', () => {
  expect(schemaOfJson(ORDER).parse({ sizes: [1], other: 'a' })).toEqual({ sizes: [1], other: 'a' });
});

test('zod writes a schema from schemaOfJson with all its keywords and leaves the original as it was', () => {
  const before = structuredClone(ORDER);
  expect(z.toJSONSchema(schemaOfJson(ORDER), { io: 'input' })).toMatchObject(before);
  expect(ORDER).toEqual(before);
});
