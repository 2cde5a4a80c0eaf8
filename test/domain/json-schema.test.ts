import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkJsonSchema, type JsonSchema } from '../../src/domain/json-schema.ts';

const leaf = fc.constantFrom<z.ZodType>(
  z.string().min(1).max(4),
  z.number().min(-5).max(5),
  z.int().min(0).max(9),
  z.boolean(),
  z.null(),
  z.enum(['a', 'b']),
  z.literal(7),
);
const schemas = fc.letrec<{ node: z.ZodType }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((forms) => z.union(forms as [z.ZodType])),
    tie('node').map((item) => z.array(item).max(3)),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.tuple(tie('node'), fc.boolean()), { maxKeys: 3 }).chain((fields) =>
      fc.boolean().map((isStrict) => {
        const shape = Object.fromEntries(
          Object.entries(fields).map(([name, [each, isOptional]]) => [name, isOptional ? each.optional() : each]),
        );
        return isStrict ? z.strictObject(shape) : z.looseObject(shape);
      }),
    ),
  ),
})).node;
const values = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('__proto__'));
const near = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.constantFrom<unknown>('a', 'b', 7, 3, null, true, [1], {}),
);

it('checkJsonSchema accepts the same values as zod, for schemas that zod writes', () => {
  fc.assert(
    fc.property(schemas, fc.oneof(values, near), (schema, value) => {
      const written = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
      expect(checkJsonSchema(written, value).length === 0).toBe(schema.safeParse(value).success);
    }),
    { numRuns: 2_000 },
  );
});

describe('schemas that could harm a worker', () => {
  it.each<[string, JsonSchema]>([
    ['refers to itself', { $ref: '#' }],
    ['refers to itself through two forms', { anyOf: [{ $ref: '#' }, { $ref: '#' }], allOf: [{ $ref: '#' }] }],
    ['has a slow pattern', { type: 'string', pattern: '^(a+)+$' }],
    ['refers to another document', { $ref: 'https://example.com/schema' }],
  ])('a check ends at once and accepts the value if the schema %s', (_, schema) => {
    expect(checkJsonSchema(schema, `${'a'.repeat(60)}!`)).toEqual([]);
  });

  it('a recursive schema checks each level of the value', () => {
    const schema = {
      type: 'object',
      properties: { next: { $ref: '#' }, name: { type: 'string' } },
      required: ['name'],
    };
    expect(checkJsonSchema(schema, { name: 'a', next: { name: 'b', next: { name: 7 } } })).toEqual([
      { path: ['next', 'next', 'name'], why: 'expected string' },
    ]);
  });
});
