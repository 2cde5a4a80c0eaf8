import { readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const DOCS = ['README.md', ...readdirSync(`${ROOT}/docs`).map((name) => `docs/${name}`)];

/** Programs in a page, each under the name in its first line, as files of one folder: they import one another. */
function readPrograms(page: string): Map<string, string> {
  const text = readFileSync(`${ROOT}/${page}`, 'utf8');
  const blocks = [...text.matchAll(/^```ts\n(\/\/ ([\w-]+\.ts)\b[^]*?)^```$/gm)];
  return new Map(blocks.map(([, code = '', name = '']) => [`${ROOT}/${page.replace(/\W/g, '-')}/${name}`, code]));
}

/** As somebody would who has the package: strict, and with its types under its names. */
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

test('programs in the documentation are programs', { timeout: 60_000 }, () => {
  const pages = DOCS.map((page) => [page, readPrograms(page)] as const).filter(([, { size }]) => size > 0);
  expect(pages.map(([page]) => page)).toEqual(['README.md', 'docs/agents.md']);
  expect(findErrors(new Map(pages.flatMap(([, programs]) => [...programs])))).toEqual([]);
});
