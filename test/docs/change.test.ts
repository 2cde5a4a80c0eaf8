import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${ROOT}docs/contributing/change.md`, 'utf8');

/** Files that a section lists, in its table. */
function listFiles(heading: string): string[] {
  const section = page.split(`\n## ${heading}`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file = '']) => file);
}

/** Files below a folder that name an example, outside of their imports. */
function findNaming(folder: string, example: RegExp): string[] {
  return globSync(`${folder}/**/*.{ts,lua,json}`, { cwd: ROOT }).filter((file) =>
    readFileSync(`${ROOT}${file}`, 'utf8')
      .split('\n')
      .some((line) => example.test(line) && !/ from '/.test(line)),
  );
}

test('every file that the page on changes lists exists', () => {
  const files = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !existsSync(`${ROOT}${file}`))).toEqual([]);
});

test.each<[string, string, RegExp, RegExp?]>([
  ['A read for callers', 'src/api', /breakdown/i, /openai/],
  ['A script', 'src/store', /reportDeath|'report-death'/],
  ['An option of a turn', 'src/store', /metadata/, /about|list-conversations|update-conversation|recent-list/],
  ['A setting', 'src/host', /TURNFOLD_SUMMARIZATION_CONCURRENCY/],
  ['A metric', 'src/telemetry', /turnfold_pass_requests_total|passRequests/],
])(
  'the list "%s" on the page about changes has every file of %s that names its example',
  (heading, folder, example, other = /$^/) => {
    // Conversations have metadata, too, and OpenAI's count of tokens calls the method `breakdown`.
    const naming = findNaming(folder, example).filter((file) => !other.test(file));
    expect(naming.length).toBeGreaterThan(1);
    expect(listFiles(heading)).toEqual(expect.arrayContaining(naming));
  },
);

test('the list "A read for callers" on the page about changes names at most six files that are written by hand', () => {
  const generated = new Set(['src/api/http/examples.json', 'docs/reference/parity.md']);
  expect(listFiles('A read for callers').filter((file) => !generated.has(file)).length).toBeLessThanOrEqual(6);
});
