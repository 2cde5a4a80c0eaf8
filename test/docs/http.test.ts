import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { HTTP_CODES } from '../../src/http/problem.ts';
import { routes } from '../../src/http/routes.ts';

const page = readFileSync(new URL('../../docs/reference/http.md', import.meta.url), 'utf8');

test('docs/reference/http.md has a row for every route of the OpenAPI document, with its scope and task', () => {
  const rows = page.split('\n').filter((line) => /^\| `(GET|POST|DELETE) \/v1/.test(line));
  const expected = routes.map(
    ({ method, path, scope, summary }) => `| \`${method.toUpperCase()} ${path}\` | ${scope} | ${summary} |`,
  );
  expect(rows).toEqual(expected);
});

test('docs/reference/http.md has every error code of HTTP with its status', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(rows).toEqual(Object.entries(HTTP_CODES));
});
