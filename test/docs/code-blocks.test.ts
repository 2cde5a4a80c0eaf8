import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import ts from 'typescript';
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

/** Compiler options of a user of the package: strict, with the types of the package under its names. */
function findErrors(programs: ReadonlyMap<string, string>): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [`${ROOT}/node_modules/@types`],
    paths: { turnfold: [`${ROOT}/src/index.ts`], 'turnfold/client': [`${ROOT}/src/client/index.ts`] },
  };
  const host = ts.createCompilerHost(options);
  const folders = new Set([...programs.keys()].map(dirname));
  const program = ts.createProgram([...programs.keys()], options, {
    ...host,
    directoryExists: (path) => folders.has(path) || ts.sys.directoryExists(path),
    fileExists: (path) => programs.has(path) || host.fileExists(path),
    getSourceFile(path, settings, ...rest) {
      const code = programs.get(path);
      return code === undefined
        ? host.getSourceFile(path, settings, ...rest)
        : ts.createSourceFile(path, code, settings);
    },
  });
  const found = [...programs.keys()].flatMap((path) => ts.getPreEmitDiagnostics(program, program.getSourceFile(path)));
  return found.map(({ messageText, file, start = 0 }) => {
    const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
    return `${file?.fileName}:${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

/** Reports of this project's lint, with types. Programs of users print to a console, so that rule is off. */
function lint(programs: ReadonlyMap<string, string>): string {
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
      'turnfold/client': [`${ROOT}/src/client/index.ts`],
      zod: [`${ROOT}/node_modules/zod`],
    },
  };
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
  const run = spawnSync(`${ROOT}/node_modules/.bin/oxlint`, [...rules, '.'], { cwd: folder, encoding: 'utf8' });
  return run.status === 0 ? '' : run.stdout + run.stderr;
}

test('programs in the documentation pass the lint of this project', { timeout: 120_000 }, () => {
  const programs = new Map(DOCS.flatMap((page) => [...readPrograms(page)]));
  expect(lint(programs)).toBe('');
  const broken = new Map([['/README-md/broken.ts', 'async function late() {}\nlate();\nexport {};\n']]);
  expect(lint(broken)).toContain('no-floating-promises');
});

test('programs in the documentation compile', { timeout: 60_000 }, () => {
  const pages = DOCS.map((page) => [page, readPrograms(page)] as const).filter(([, { size }]) => size > 0);
  expect(pages.map(([page]) => page).toSorted()).toEqual([
    'README.md',
    'docs/how-to/answer-calls.md',
    'docs/reference/agents.md',
    'docs/tutorial.md',
  ]);
  expect(findErrors(new Map(pages.flatMap(([, programs]) => [...programs])))).toEqual([]);
});
