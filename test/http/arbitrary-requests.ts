import * as fc from 'fast-check';

/** A JSON Schema, as far as the OpenAPI document uses it. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
}

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}

export interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface RandomRequest {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Few ids, so that requests meet each other's conversations and turns. */
const IDS = ['a', 'a', 'support-42', 't1', 't2', 'talker', 'talker'];
const id = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...IDS) }, fc.string({ maxLength: 140, unit: 'binary' }));

const hostileText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '0', '-1', '1e999', '../..', '\u0000', '%', 'x'.repeat(3_000)),
);
const hostileValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, -1, 1e300, '', [], {}, true, '\ud800', { __proto__: null, constructor: 1 }),
);
/** Text that is no JSON, or JSON that is nested too deeply. */
const hostileBody = fc.constantFrom(
  '',
  '{',
  'nul',
  '['.repeat(5_000),
  `${'{"a":'.repeat(150)}1${'}'.repeat(150)}`,
  '"\\ud800"',
  '1e999',
);

/** Waits stay short, so that a run ends in time. */
const SHORT_WAIT = fc.constantFrom(0, 1, 5);

const RESPONSES = ['resp_a~t1', 'resp_support-42~m1.1', 'resp_a~t2~c2_0', 'resp_b~t1', 'resp_x'];
/** Values of fields whose schemas allow any text. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  previous_response_id: RESPONSES,
  response: RESPONSES,
  role: ['user', 'assistant', 'system', 'tool'],
  type: ['text', 'message', 'function_call', 'function_call_output', 'mcp_approval_response', 'step-start'],
  call_id: ['c2_0', 'c4_0'],
  toolCallId: ['c2_0', 'c4_0'],
  interruptId: ['t1/c2_0', 't2/c4_0', 'c2_0'],
};

function valueOf(schema: Schema, name = ''): fc.Arbitrary<unknown> {
  if (name === 'waitMs') return SHORT_WAIT;
  if (name === 'content') return fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.jsonValue({ maxDepth: 2 }));
  const { examples, ...rest } = schema;
  // Random members rarely make a body whose parts agree with each other, which an example does.
  if (examples !== undefined) return fc.oneof(fc.constantFrom(...examples), valueOf(rest, name));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valueOf(choice, name)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case 'string':
      if (NAMED[name] !== undefined) return fc.constantFrom(...NAMED[name]);
      return schema.pattern?.includes('A-Za-z0-9_.-') === true ? id : fc.string({ minLength: 1, unit: 'grapheme' });
    case 'integer':
    case 'number':
      return integerFrom(Math.max(schema.minimum ?? 0, -5), schema.maximum);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valueOf(schema.items ?? {}), { maxLength: 4 });
    case 'object':
      return objectOf(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function integerFrom(min: number, max = Number.POSITIVE_INFINITY): fc.Arbitrary<number> {
  return fc.integer({ min, max: Math.min(max, min + 50) });
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<object> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema, name)]));
  const known = fc.record(fields, { requiredKeys: required.filter((name) => name in fields) });
  if (typeof additionalProperties !== 'object' || Object.keys(properties).length > 0) return known;
  return fc.dictionary(fc.constantFrom('c2_0', 'c4_0', '1-2', '__proto__'), valueOf(additionalProperties), {
    maxKeys: 2,
  });
}

/** Replaces, removes or adds one member of a body. */
function spoil(body: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(body, hostileValue, fc.nat()).map(([value, hostile, at]) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return hostile;
    const names = [...Object.keys(value), 'unknown'];
    return { ...value, [names[at % names.length] ?? 'unknown']: at % 5 === 0 ? undefined : hostile };
  });
}

function bodyOf(schema: Schema): fc.Arbitrary<string> {
  const body = valueOf(schema);
  const write = (value: unknown): string => JSON.stringify(value) ?? '';
  return fc.oneof(
    { weight: 5, arbitrary: body.map(write) },
    { weight: 3, arbitrary: spoil(body).map(write) },
    { weight: 1, arbitrary: hostileBody },
  );
}

/** Requests to an operation: most match their schemas, the others break them in one place. */
function requestTo(method: string, path: string, operation: Operation): fc.Arbitrary<RandomRequest> {
  const { parameters = [], requestBody, operationId } = operation;
  const partsIn = (place: Parameter['in']) => {
    const found = parameters.filter((parameter) => parameter.in === place);
    const values = found.map(({ name, schema }) => {
      const valid = valueOf(schema, name).map(String);
      return [name, name === 'waitMs' ? valid : fc.oneof({ weight: 6, arbitrary: valid }, hostileText)];
    });
    const requiredKeys = found.filter(({ required }) => required === true).map(({ name }) => name);
    return fc.record(Object.fromEntries(values) as Record<string, fc.Arbitrary<string>>, {
      requiredKeys,
    }) as fc.Arbitrary<Record<string, string>>;
  };
  return fc
    .record({
      params: partsIn('path'),
      query: partsIn('query'),
      headers: partsIn('header'),
      body: requestBody === undefined ? fc.constant(undefined) : bodyOf(requestBody.content['application/json'].schema),
      type: fc.oneof(
        { weight: 9, arbitrary: fc.constant('application/json') },
        fc.constantFrom('text/plain', 'application/json; charset=utf-8', ''),
      ),
    })
    .map(({ params, query, headers, body, type }) => ({
      operation: operationId,
      method: method.toUpperCase(),
      path: writePath(path, params, query),
      headers: { ...legalHeaders(headers), ...(body !== undefined && { 'content-type': type }) },
      body,
    }));
}

function writePath(path: string, params: Record<string, string>, query: Record<string, string>): string {
  const encode = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('.', '%2E');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(params[name] ?? ''));
  const search = Object.entries(query).map(([name, value]) => `${name}=${encode(value)}`);
  return search.length === 0 ? filled : `${filled}?${search.join('&')}`;
}

/** `fetch` refuses to send other header values. */
function legalHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replaceAll(/[^\x20-\x7e]/g, '?')]),
  );
}

/** Replaces the references to shared schemas, none of which refers to itself. */
function inlineRefs<Value>(value: Value, schemas: OpenApi['components']['schemas']): Value {
  const written = JSON.stringify(value, (_, member: Schema | null) => {
    const name = member?.$ref?.replace('#/components/schemas/', '');
    return name === undefined ? member : schemas[name];
  });
  return JSON.parse(written) as Value;
}

export function arbitraryRequest({ paths: written, components }: OpenApi): fc.Arbitrary<RandomRequest> {
  const paths = inlineRefs(written, components.schemas);
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestTo(method, path, operation)),
  );
  return fc.oneof(...requests);
}
