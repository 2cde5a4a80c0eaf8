import { z } from 'zod';

type Described = z.ZodObject | z.ZodDiscriminatedUnion;

/** Schemas that refuse unknown fields, by list of schemas and type of the event. */
const strict = new WeakMap<readonly unknown[], Map<string, z.ZodType | undefined>>();

/**
 * Compares a streamed event with the schemas of the OpenAPI document. Fields that the document does not name count as a
 * difference.
 * @returns undefined without a difference
 */
export function explainDifference(schemas: readonly unknown[], event: { readonly type: string }): string | undefined {
  const byType = strict.get(schemas) ?? new Map<string, z.ZodType | undefined>();
  strict.set(schemas, byType);
  const { type } = event;
  if (!byType.has(type)) byType.set(type, findStrict(schemas, type));
  const described = byType.get(type);
  if (described === undefined) return `the document has no event ${type}`;
  const { error } = described.safeParse(JSON.parse(JSON.stringify(event)));
  return error && `${type}: ${z.prettifyError(error)}`;
}

function findStrict(schemas: readonly unknown[], type: string): z.ZodType | undefined {
  const objects = (schemas as readonly Described[]).flatMap(listObjects);
  const found = objects.find(({ shape }) => (shape['type'] as z.ZodType).safeParse(type).success);
  return found && z.strictObject(found.shape);
}

function listObjects(schema: Described): z.ZodObject[] {
  return 'shape' in schema ? [schema] : (schema.options as unknown as readonly Described[]).flatMap(listObjects);
}
