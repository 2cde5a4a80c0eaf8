import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { HTTP_CODES } from '../../src/api/http/problem.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { routes } from '../../src/api/http/routes.ts';

const page = readPage('http.md');
const protocols = readPage('front-end-protocols.md');

function readPage(name: string): string {
  return readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8');
}

test('docs/reference/http.md has a row for every route of the OpenAPI document, with its scope and task', () => {
  const rows = page.split('\n').filter((line) => /^\| `(GET|POST|DELETE) \/v1/.test(line));
  const expected = routes.map(
    ({ method, path, scope, summary }) => `| \`${method.toUpperCase()} ${path}\` | ${scope} | ${summary} |`,
  );
  expect(rows).toEqual(expected);
});

test('docs/reference/front-end-protocols.md has a row for every route of the protocols, with its scopes and task', () => {
  const rows = protocols.split('\n').filter((line) => /^\| `(GET|POST) \/v1/.test(line));
  // The routes need no client.
  const served = createProtocols({ client: {} as TurnfoldClient, agent: 'a' }).flatMap(({ routes: own }) => own);
  const expected = served.map(
    ({ method, path, scopes, summary }) =>
      `| \`${method.toUpperCase()} ${path}\` | ${scopes.join(', ')} | ${summary} |`,
  );
  expect(rows).toEqual(expected);
});

test('docs/reference/http.md has every error code of HTTP with its status', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(rows).toEqual(Object.entries(HTTP_CODES));
});
