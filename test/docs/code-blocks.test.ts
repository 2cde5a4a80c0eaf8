import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGES = readdirSync(`${ROOT}/docs`, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
const DOCS = ['README.md', ...PAGES.map((name) => `docs/${name}`)];

/** Programs in a page, each under the name in its first line, as files of one folder: they import one another. */
function readPrograms(page: string): Map<string, string> {
  const text = readFileSync(`${ROOT}/${page}`, 'utf8');
  const blocks = [...text.matchAll(/^```ts\n(\/\/ ([\w-]+\.ts)\b[^]*?)^```$/gm)];
  return new Map(blocks.map(([, code = '', name = '']) => [`${ROOT}/${page.replace(/\W/g, '-')}/${name}`, code]));
}

/**
 * Reports of this project's lint, a line each, which include errors of the compiler under the options of a user of the
 * package. Programs of users print to a console, so that rule is off.
 */
function lint(programs: ReadonlyMap<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'turnfold-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, code] of programs) {
    const own = join(folder, basename(dirname(path)));
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, basename(path)), code);
  }
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'ES2024',
    module: 'NodeNext',
    types: ['node'],
    allowImportingTsExtensions: true,
    typeRoots: [`${ROOT}/node_modules/@types`],
    paths: {
      turnfold: [`${ROOT}/src/index.ts`],
      'turnfold/client': [`${ROOT}/src/api/client/index.ts`],
      'turnfold/http-client': [`${ROOT}/src/api/http-client/index.ts`],
      'turnfold/ai-sdk': [`${ROOT}/src/ai-sdk.ts`],
      'turnfold/compact': [`${ROOT}/src/compact.ts`],
      'turnfold/mcp': [`${ROOT}/src/mcp.ts`],
      '@ai-sdk/google': [`${ROOT}/node_modules/@ai-sdk/google/dist/index.d.ts`],
      ai: [`${ROOT}/node_modules/ai/dist/index.d.ts`],
      zod: [`${ROOT}/node_modules/zod/index.d.ts`],
    },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const config = join(folder, 'tsconfig.json');
  writeFileSync(config, JSON.stringify({ compilerOptions, include: ['*/*.ts'] }));
  const rules = [
    '-c',
    `${ROOT}/.oxlintrc.json`,
    '-A',
    'no-console',
    '-A',
    'no-restricted-properties',
    '--tsconfig',
    config,
  ];
  const { stdout, stderr } = spawnSync(`${ROOT}/node_modules/.bin/oxlint`, [...rules, '--format=unix', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return (stdout + stderr).split('\n').filter((line) => !/^(?:\d+ problems?)?$/.test(line));
}

test('programs in the documentation compile and pass the lint of this project', { timeout: 120_000 }, () => {
  const pages = DOCS.map((page) => [page, readPrograms(page)] as const).filter(([, { size }]) => size > 0);
  expect(pages.map(([page]) => page).toSorted()).toEqual([
    'README.md',
    'docs/how-to/answer-calls.md',
    'docs/how-to/compact-in-your-own-loop.md',
    'docs/how-to/use-http-clients.md',
    'docs/how-to/use-mcp-servers.md',
    'docs/how-to/use-the-ai-sdk.md',
    'docs/reference/agents.md',
    'docs/tutorial.md',
  ]);
  // One run for all: a run reads the types of src, which takes most of its time.
  const broken =
    "import 'turnfold';\nasync function late() {}\nlate();\nconst size: number = 'one';\nexport { size };\n";
  const programs = pages.flatMap(([, found]) => [...found]);
  const reports = lint(new Map([...programs, ['/broken/broken.ts', broken]]));
  expect(reports.filter((line) => !line.startsWith('broken/'))).toEqual([]);
  expect(reports.join('\n')).toContain('no-floating-promises');
  expect(reports.join('\n')).toContain('TS2322');
});
