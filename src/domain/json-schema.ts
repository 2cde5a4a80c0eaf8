import { z } from 'zod';
import { isMapping } from './parse.ts';

/** JSON Schema, as a JSON object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface SchemaProblem {
  readonly path: readonly (string | number)[];
  readonly why: string;
}

/** Schemas and values come from callers and models, so the work on them is bounded. The rest then counts as valid. */
const MAX_STEPS = 100_000;
const MAX_DEPTH = 300;
const MAX_PROBLEMS = 10;

/**
 * Checks a JSON value by the usual keywords of draft 2020-12. Other keywords accept any value. So do `pattern` and
 * `format`: a regular expression of a caller could block the event loop.
 */
export function checkJsonSchema(schema: unknown, value: unknown): readonly SchemaProblem[] {
  const check = new SchemaCheck(schema);
  return check.problemsOf({ schema, value, path: [], depth: 0 }).slice(0, MAX_PROBLEMS);
}

/** A schema of zod with the rules of a JSON Schema, which providers get unchanged. */
export function schemaOfJson(schema: JsonSchema): z.ZodType {
  const checked = z.unknown().transform((value, context): unknown => {
    for (const { path, why } of checkJsonSchema(schema, value)) {
      context.addIssue({ code: 'custom', path: [...path], message: why });
    }
    return value;
  });
  // A copy, because zod writes into the object that it gets.
  checked['_zod'].toJSONSchema = () => structuredClone(schema);
  return checked;
}

interface Place {
  readonly schema: unknown;
  readonly value: unknown;
  readonly path: readonly (string | number)[];
  readonly depth: number;
}

interface Rules extends Omit<Place, 'schema'> {
  readonly schema: JsonSchema;
}

const VALID: readonly SchemaProblem[] = [];

class SchemaCheck {
  readonly #root: unknown;
  #steps = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  problemsOf(place: Place): readonly SchemaProblem[] {
    const { schema, path, depth } = place;
    this.#steps += 1;
    if (this.#steps > MAX_STEPS || depth > MAX_DEPTH) return VALID;
    if (schema === false) return [{ path, why: 'expected no value here' }];
    if (!isMapping(schema)) return VALID;
    const rules: Rules = { ...place, schema };
    const problem = findTypeProblem(rules) ?? findValueProblem(rules);
    if (problem !== undefined) return [{ path, why: problem }];
    return [...this.#checkCombined(rules), ...this.#checkObject(rules), ...this.#checkList(rules)];
  }

  #isValid(place: Place): boolean {
    return this.problemsOf({ ...place, depth: place.depth + 1 }).length === 0;
  }

  #under(rules: Rules, schema: unknown): readonly SchemaProblem[] {
    return this.problemsOf({ ...rules, schema, depth: rules.depth + 1 });
  }

  #member({ path, depth }: Rules, key: string | number, schema: unknown, value: unknown): readonly SchemaProblem[] {
    return this.problemsOf({ schema, value, path: [...path, key], depth: depth + 1 });
  }

  #checkCombined(rules: Rules): readonly SchemaProblem[] {
    const { schema, path } = rules;
    const { $ref: reference, allOf, anyOf, oneOf, not, if: condition } = schema;
    const problems: SchemaProblem[] = [];
    if (typeof reference === 'string') problems.push(...this.#under(rules, this.#resolve(reference)));
    if (Array.isArray(allOf)) problems.push(...allOf.flatMap((each) => this.#under(rules, each)));
    if (Array.isArray(anyOf)) problems.push(...this.#checkAny(rules, anyOf));
    if (Array.isArray(oneOf)) {
      const fits = oneOf.filter((each) => this.#isValid({ ...rules, schema: each })).length;
      if (fits === 0) problems.push(...this.#checkAny(rules, oneOf));
      if (fits > 1) problems.push({ path, why: `matches ${fits} forms of which only one is allowed` });
    }
    if (not !== undefined && this.#isValid({ ...rules, schema: not })) problems.push({ path, why: 'is not allowed' });
    if (condition !== undefined) {
      const branch = this.#isValid({ ...rules, schema: condition }) ? schema['then'] : schema['else'];
      problems.push(...this.#under(rules, branch));
    }
    return problems;
  }

  /** If there is only one form, its own problems say more than that it does not match. */
  #checkAny(rules: Rules, forms: readonly unknown[]): readonly SchemaProblem[] {
    if (forms.length === 1) return this.#under(rules, forms[0]);
    if (forms.length === 0 || forms.some((form) => this.#isValid({ ...rules, schema: form }))) return VALID;
    return [{ path: rules.path, why: `matches none of the ${forms.length} allowed forms` }];
  }

  #checkObject(rules: Rules): readonly SchemaProblem[] {
    const { schema, value, path } = rules;
    if (!isMapping(value)) return VALID;
    const { required, additionalProperties: others, patternProperties: patterns } = schema;
    const properties = isMapping(schema['properties']) ? schema['properties'] : {};
    const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(value, String(name))) : [];
    const problems: SchemaProblem[] = missing.map((name) => ({ path: [...path, String(name)], why: 'is missing' }));
    for (const [key, member] of Object.entries(value)) {
      if (Object.hasOwn(properties, key)) problems.push(...this.#member(rules, key, properties[key], member));
      else if (others === false && patterns === undefined)
        problems.push({ path: [...path, key], why: 'unknown field' });
      else if (patterns === undefined) problems.push(...this.#member(rules, key, others, member));
    }
    return problems;
  }

  #checkList(rules: Rules): readonly SchemaProblem[] {
    const { schema, value } = rules;
    if (!Array.isArray(value)) return VALID;
    const first = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : [];
    return value.flatMap((item: unknown, index) =>
      this.#member(rules, index, index < first.length ? first[index] : schema['items'], item),
    );
  }

  /** Finds a part of the schema. A reference to another document accepts any value. */
  #resolve(reference: string): unknown {
    if (reference === '#') return this.#root;
    if (!reference.startsWith('#/')) return true;
    let at = this.#root;
    for (const part of reference.slice(2).split('/')) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return true;
      at = Reflect.get(at, key) as unknown;
    }
    return at;
  }
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  object: isMapping,
  array: Array.isArray,
};

function findTypeProblem({ schema, value }: Rules): string | undefined {
  const { type } = schema;
  if (type === undefined || (value === null && schema['nullable'] === true)) return undefined;
  const types = (Array.isArray(type) ? type : [type]).map(String);
  const isKnown = types.every((name) => Object.hasOwn(TYPES, name));
  if (!isKnown || types.some((name) => TYPES[name]?.(value))) return undefined;
  return `expected ${types.join(' or ')}`;
}

function findValueProblem({ schema, value }: Rules): string | undefined {
  const { enum: values, const: only } = schema;
  if (Array.isArray(values) && !values.some((each) => isSameJson(each, value))) {
    return `expected one of ${JSON.stringify(values).slice(0, 200)}`;
  }
  if (only !== undefined && !isSameJson(only, value)) return `expected ${JSON.stringify(only).slice(0, 200)}`;
  if (typeof value === 'number') return findNumberProblem(schema, value);
  if (typeof value === 'string') return findSizeProblem(schema, countCharacters(value), 'Length', 'characters');
  if (Array.isArray(value)) return findSizeProblem(schema, value.length, 'Items', 'items');
  return isMapping(value) ? findSizeProblem(schema, Object.keys(value).length, 'Properties', 'fields') : undefined;
}

function findNumberProblem(schema: JsonSchema, value: number): string | undefined {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  if (typeof minimum === 'number' && value < minimum) return `expected at least ${minimum}`;
  if (typeof maximum === 'number' && value > maximum) return `expected at most ${maximum}`;
  if (typeof above === 'number' && value <= above) return `expected more than ${above}`;
  return typeof below === 'number' && value >= below ? `expected less than ${below}` : undefined;
}

/** JSON Schema counts code points. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function findSizeProblem(schema: JsonSchema, size: number, of: string, unit: string): string | undefined {
  const [least, most] = [schema[`min${of}`], schema[`max${of}`]];
  if (typeof least === 'number' && size < least) return `expected at least ${least} ${unit}`;
  return typeof most === 'number' && size > most ? `expected at most ${most} ${unit}` : undefined;
}

function isSameJson(one: unknown, other: unknown): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSameJson(item, other[at]));
  }
  if (!isMapping(one)) return one === other;
  const keys = Object.keys(one);
  if (!isMapping(other) || Object.keys(other).length !== keys.length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]));
}
