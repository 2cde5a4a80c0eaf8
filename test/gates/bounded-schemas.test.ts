import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { createHttpApp } from '../../src/api/http/index.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';

/** Schemas of what turnfold itself answers, which describe answers and read nothing. */
const ANSWERS = /^src\/api\/(contract\/operation|http\/(ai-sdk\/routes|responses\/routes|compact\/compact-app))/;
const OWN = 'src/domain/bounded-schemas.ts';
const UNBOUNDED = /\bz\s*\.(array|record|map|set)\(|\.(array|rest)\(\)/;

test('every list and record in the schemas of src is made by `boundedList` or `boundedRecord`', () => {
  const files = globSync('src/**/*.ts').filter((path) => path !== OWN && !ANSWERS.test(path));
  expect(files.length).toBeGreaterThan(300);
  const unbounded = files.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line, at) => (UNBOUNDED.test(line) ? [`${path}:${at + 1}`] : [])),
  );
  expect(unbounded).toEqual([]);
});

test('the bounds check reports a list, a record, a map and a set without a bound', () => {
  const made = [
    'z.array(z.string())',
    'z.record(z.string(), z.unknown())',
    'z.map(a, b)',
    'z.set(a)',
    'z.string().array()',
  ];
  expect(made.filter((source) => !UNBOUNDED.test(source))).toEqual([]);
});

type Schema = Readonly<Record<string, unknown>>;

/** Lists the paths of lists without `maxItems` and of objects with any names without `maxProperties`. */
function listUnbounded(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, maxItems, additionalProperties: others, maxProperties, examples: _, ...rest } = schema as Schema;
  const isOpenList = type === 'array' && maxItems === undefined;
  const isOpenRecord =
    typeof others === 'object' && Object.keys(others ?? {}).length > 0 && maxProperties === undefined;
  const inner = Object.entries({ ...rest, others }).flatMap(([key, value]) => listUnbounded(value, `${path}.${key}`));
  return isOpenList || isOpenRecord ? [path, ...inner] : inner;
}

test('the OpenAPI document states the bound of every list and record in a request', () => {
  const client = {} as TurnfoldClient;
  const app = createHttpApp({ client, authenticate: 'none', protocols: createProtocols({ client, agent: 'talker' }) });
  const { paths, components } = app.document as {
    readonly paths: Record<string, Record<string, { readonly requestBody?: { readonly content: unknown } }>>;
    readonly components: { readonly schemas: Record<string, unknown> };
  };
  const bodies = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ requestBody }) => (requestBody === undefined ? [] : [{ path, ...requestBody }])),
  );
  expect(bodies.length).toBeGreaterThan(10);
  const written = JSON.stringify(bodies);
  const shared = Object.entries(components.schemas).filter(([name]) =>
    written.includes(`#/components/schemas/${name}"`),
  );
  const unbounded = [
    ...bodies.flatMap(({ path, content }) => listUnbounded(content, path)),
    ...shared.flatMap(([name, schema]) => listUnbounded(schema, name)),
  ];
  expect(unbounded).toEqual([]);
});
