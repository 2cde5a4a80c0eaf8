import { isMapping } from './parse.ts';

export interface ProviderSchema {
  /** JSON Schema with only the keywords that all providers accept. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Every object requires all of its fields. OpenAI enforces no other schema. */
  readonly isStrict: boolean;
  /** Name of the form for the provider (`answer`). */
  readonly name?: string;
}

const KEPT: ReadonlySet<string> = new Set(['type', 'description', 'title', 'enum', 'const', 'required']);
/** Keywords that are not sent, because they only narrow a value. The worker checks the answer by these keywords. */
const LOOSENED: ReadonlySet<string> = new Set(
  (
    '$schema $id $comment id default examples readOnly writeOnly deprecated format pattern minimum maximum ' +
    'exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems minProperties ' +
    'maxProperties contentEncoding contentMediaType'
  ).split(' '),
);

class UnsupportedSchema extends Error {}

/**
 * Rewrites a JSON Schema to one that Anthropic and OpenAI take for structured answers. Undefined if that needs a
 * keyword that one of them does not take: records with free keys, tuples, recursion.
 */
export function toProviderSchema(schema: Readonly<Record<string, unknown>>): ProviderSchema | undefined {
  const found = { isStrict: true };
  try {
    return { schema: rewrite(schema, found), ...found };
  } catch (error) {
    if (error instanceof UnsupportedSchema) return undefined;
    throw error;
  }
}

function rewrite(schema: unknown, found: Found): Record<string, unknown> {
  if (!isMapping(schema)) throw new UnsupportedSchema();
  const written = Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]) => rewriteKeyword(keyword, value, found)),
  );
  return schema['type'] === 'object' ? closeObject(written, found) : written;
}

interface Found {
  isStrict: boolean;
}

function rewriteKeyword(keyword: string, value: unknown, found: Found): [string, unknown][] {
  if (KEPT.has(keyword)) return [[keyword, value]];
  switch (keyword) {
    case 'items':
      return [[keyword, rewrite(value, found)]];
    case 'properties':
      return [[keyword, rewriteEach(value, found)]];
    case 'anyOf':
    case 'oneOf':
      return [['anyOf', rewriteList(value, found)]];
    default:
      if (LOOSENED.has(keyword) || (keyword === 'additionalProperties' && value === false)) return [];
      throw new UnsupportedSchema();
  }
}

function closeObject(written: Record<string, unknown>, found: Found): Record<string, unknown> {
  const { properties = {}, required = [] } = written;
  const names = Object.keys(isMapping(properties) ? properties : {});
  if (!Array.isArray(required) || required.length < names.length) found.isStrict = false;
  return { ...written, properties, additionalProperties: false };
}

function rewriteEach(schemas: unknown, found: Found): Record<string, unknown> {
  if (!isMapping(schemas)) throw new UnsupportedSchema();
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, rewrite(schema, found)]));
}

function rewriteList(schemas: unknown, found: Found): Record<string, unknown>[] {
  if (!Array.isArray(schemas)) throw new UnsupportedSchema();
  return schemas.map((schema) => rewrite(schema, found));
}
