/**
 * Gate against code that is cut too finely. The limits of files and functions (scripts/ceilings.ts) push towards ever smaller
 * files. This gate pushes back: it counts files of src/ that only one file imports and no test, and names that two files of
 * src/ export. Both counts may only fall: lower the limit when they have.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import ts from 'typescript';

const LIMITS = { 'files with one importer': 50, 'names exported twice': 0 } as const;

/** Matches imports, exports from and dynamic imports of a file of the project. */
const LOCAL_IMPORT = /['"](\.{1,2}\/[^'"\n]+\.tsx?)['"]/g;

const texts = new Map(
  globSync('{src,inspector,test,bench,scripts,examples,deploy}/**/*.{ts,tsx}', {
    exclude: (path) => path.endsWith('node_modules') || path.endsWith('dist'),
  }).map((path) => [path.replaceAll('\\', '/'), readFileSync(path, 'utf8')]),
);
const sources = [...texts.keys()].filter((path) => path.startsWith('src/'));

function findImporters(): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>();
  for (const [path, text] of texts) {
    for (const [, specifier = ''] of text.matchAll(LOCAL_IMPORT)) {
      const target = join(dirname(path), specifier);
      importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  return importers;
}

/**
 * Lists each file of src/ with a single importer, which is in src/, too. A test that imports the file keeps it apart. So does
 * a folder of alternatives, e.g. of commands: three files or more, all imported by one file outside of the folder.
 */
function listOnceImported(): string[] {
  const importers = findImporters();
  const once = sources.flatMap((path) => {
    const [importer = '', ...others] = importers.get(path) ?? [];
    return importer.startsWith('src/') && others.length === 0 ? [{ path, importer, folder: dirname(path) }] : [];
  });
  const alternatives = ({ importer, folder }: (typeof once)[number]): number =>
    importer.startsWith(`${folder}/`) ? 0 : once.filter((a) => a.importer === importer && a.folder === folder).length;
  return once.filter((file) => alternatives(file) < 3).map(({ path, importer }) => `${path} ← ${importer}`);
}

function listExports(path: string): string[] {
  const tree = ts.createSourceFile(path, texts.get(path) ?? '', ts.ScriptTarget.Latest);
  return tree.statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    }
    const { name } = statement as ts.DeclarationStatement;
    return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
  });
}

function listNamesTwice(): string[] {
  const exporters = new Map<string, string[]>();
  for (const path of sources) {
    for (const name of new Set(listExports(path))) exporters.set(name, [...(exporters.get(name) ?? []), path]);
  }
  return [...exporters].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(', ')}`);
}

const found = { 'files with one importer': listOnceImported(), 'names exported twice': listNamesTwice() };
let isWithin = sources.length > 0;
for (const [what, limit] of Object.entries(LIMITS)) {
  const list = found[what as keyof typeof LIMITS];
  if (list.length > limit) {
    isWithin = false;
    console.error(`${list.length} ${what}, limit ${limit}:\n${list.map((line) => `  ${line}`).join('\n')}`);
  }
}
const counts = Object.entries(found).map(([what, list]) => `${list.length} ${what}`);
console.log(`structure: ${sources.length} files of src, ${counts.join(', ')}`);
process.exitCode = isWithin ? 0 : 1;
