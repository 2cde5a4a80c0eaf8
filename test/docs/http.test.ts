import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { OPENAI_BASE } from '../../src/api/http/openai/routes.ts';
import { HTTP_CODES } from '../../src/api/http/problem.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { routes } from '../../src/api/http/routes.ts';

const page = readPage('http.md');

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

test.each([
  ['front-end-protocols.md', false],
  ['openai.md', true],
])('docs/reference/%s has a row for every route of its protocols, with its scopes and task', (name, isOfOpenAi) => {
  const rows = readPage(name)
    .split('\n')
    .filter((line) => /^\| `(GET|POST|DELETE) \//.test(line));
  // The routes need no client.
  const served = createProtocols({ client: {} as TurnfoldClient, agent: 'a' }).flatMap(({ routes: own }) => own);
  const expected = served
    .filter(({ path }) => path.startsWith(`${OPENAI_BASE}/`) === isOfOpenAi)
    .map(
      ({ method, path, scopes, summary }) =>
        `| \`${method.toUpperCase()} ${path}\` | ${scopes.join(', ')} | ${summary} |`,
    );
  expect(expected.length).toBeGreaterThan(10);
  expect(rows).toEqual(expected);
});

test('docs/reference/http.md has every error code of HTTP with its status', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(rows).toEqual(Object.entries(HTTP_CODES));
});
