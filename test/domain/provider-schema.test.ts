import { expect, test } from 'vitest';
import { z } from 'zod';
import { toProviderSchema } from '../../src/domain/provider-schema.ts';

const convert = (schema: z.ZodType) => toProviderSchema(z.toJSONSchema(schema, { io: 'input' }));

test('toProviderSchema forbids additional properties of objects and leaves out limits of values', () => {
  const schema = z.object({
    count: z.int().min(1),
    kind: z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]),
    names: z.array(z.string().describe('A name.')).min(1),
  });
  const kinds = ['a', 'b'].map((name) => ({
    type: 'object',
    properties: { t: { type: 'string', const: name } },
    required: ['t'],
    additionalProperties: false,
  }));
  expect(convert(schema)).toEqual({
    isStrict: true,
    schema: {
      type: 'object',
      properties: {
        count: { type: 'integer' },
        kind: { anyOf: kinds },
        names: { type: 'array', items: { type: 'string', description: 'A name.' } },
      },
      required: ['count', 'kind', 'names'],
      additionalProperties: false,
    },
  });
});

test('toProviderSchema marks a schema with an optional field as not strict', () => {
  expect(convert(z.object({ a: z.string().optional() }))?.isStrict).toBe(false);
  expect(convert(z.object({ a: z.object({ b: z.string().optional() }) }))?.isStrict).toBe(false);
});

const node = z.object({
  get children() {
    return z.array(node);
  },
});

test.each([
  ['a record', z.object({ a: z.record(z.string(), z.number()) })],
  ['a tuple', z.object({ a: z.tuple([z.string()]) })],
  ['a recursive value', node],
])('toProviderSchema returns no schema for %s, because providers cannot enforce this shape', (_, schema) => {
  expect(convert(schema)).toBeUndefined();
});

test.each([
  ['items that are no schema', { type: 'array', items: true }],
  ['properties that are no mapping', { type: 'object', properties: [] }],
  ['alternatives that are no list', { anyOf: {} }],
  ['free keys', { type: 'object', additionalProperties: { type: 'string' } }],
])(
  'toProviderSchema returns no schema for JSON Schema with %s, because providers cannot enforce this shape',
  (_, schema) => {
    expect(toProviderSchema(schema)).toBeUndefined();
  },
);

test('toProviderSchema keeps an object without properties as an object without properties', () => {
  const closed = { type: 'object', properties: {}, additionalProperties: false };
  expect(toProviderSchema({ type: 'object', additionalProperties: false })).toEqual({ isStrict: true, schema: closed });
});
