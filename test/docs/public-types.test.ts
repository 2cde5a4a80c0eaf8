import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findUndocumented } from './public-fields.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = `${ROOT}/src/`;

/**
 * Lists types that users of an entry meet, but that neither the entry nor one of `others` exports. A user's function that
 * returns such a type cannot be declared (TS2883), because nothing else of the package can be imported.
 */
function findUnnamed(program: ts.Program, file: string, others: readonly string[] = []): string[] {
  const checker = program.getTypeChecker();
  const original = (symbol: ts.Symbol): ts.Symbol =>
    (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
  const listExports = (path: string): ts.Symbol[] => {
    const source = program.getSourceFile(resolve(ROOT, path));
    const entry = source && checker.getSymbolAtLocation(source);
    if (entry === undefined) throw new Error(`${path} exports nothing`);
    return checker.getExportsOfModule(entry);
  };
  const exported = listExports(file);
  const named = new Set([file, ...others].flatMap(listExports).map(original));
  const unnamed = new Set<string>();
  const seen = new Set<ts.Symbol>();
  const look = (node: ts.Node): void => {
    // Contents of blocks and private fields are not visible to users.
    if (ts.isBlock(node) || (ts.isPropertyDeclaration(node) && ts.isPrivateIdentifier(node.name))) return;
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node) && node.expression;
    const symbol = name ? checker.getSymbolAtLocation(name) : undefined;
    if (symbol !== undefined) meet(original(symbol));
    ts.forEachChild(node, look);
  };
  const meet = (symbol: ts.Symbol): void => {
    const declarations = (symbol.declarations ?? []).filter((node) =>
      node.getSourceFile().fileName.startsWith(SOURCES),
    );
    if (seen.has(symbol) || declarations.length === 0 || (symbol.flags & ts.SymbolFlags.TypeParameter) !== 0) return;
    seen.add(symbol);
    // An alias that its module does not export is written out at its use.
    const isOwn = declarations.every((node) => ts.isTypeAliasDeclaration(node) && !isExported(node));
    if (!isOwn && !named.has(symbol)) unnamed.add(symbol.name);
    declarations.forEach(look);
  };
  for (const symbol of exported) meet(original(symbol));
  return [...unnamed].toSorted((one, other) => one.localeCompare(other));
}

function isExported(node: ts.TypeAliasDeclaration): boolean {
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** Users of HTTP routes have a client and workers, whose types the other entries export. */
const HTTP_ENTRY = 'src/api/http/index.ts';
const ENTRIES = [
  'src/ai-sdk.ts',
  'src/api/client/index.ts',
  'src/compact.ts',
  'src/index.ts',
  'src/mcp.ts',
  HTTP_ENTRY,
];

function compile(files: readonly string[]): ts.Program {
  const config = ts.getParsedCommandLineOfConfigFile(
    `${ROOT}/tsconfig.build.json`,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => undefined,
    },
  );
  return ts.createProgram([...files], config?.options ?? {});
}

const paths = ENTRIES.map((file) => resolve(ROOT, file));
const program = compile(paths);

test.each(ENTRIES)(
  'the entry point %s exports every type that occurs in its public API',
  { timeout: 60_000 },
  (entry) => {
    expect(findUnnamed(program, entry, entry === HTTP_ENTRY ? ENTRIES : [])).toEqual([]);
  },
);

describe('hover text', () => {
  test.each(paths)('every public field of %s has hover text', { timeout: 60_000 }, (path) => {
    expect(findUndocumented(program, path, (file) => file.startsWith(SOURCES))).toEqual([]);
  });

  test('a public field without hover text is reported', { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnfold-fields-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'index.ts');
    await writeFile(
      path,
      `export interface One {
         /** said */
         readonly described: string;
         readonly silent: { readonly inner: number };
       }
       export type Two = { readonly kind: 'a' } | { readonly kind: 'b'; readonly list: readonly { item: number }[] };
       export class Three {
         /** said */
         described = 1;
         open = 2;
         #own = 3;
         private hidden = 4;
       }`,
    );
    expect(findUndocumented(compile([path]), path, (file) => file.startsWith(folder))).toEqual([
      'One.silent',
      'One.silent.inner',
      'Three.open',
      'Two.list',
      'Two.list.item',
    ]);
  });
});
