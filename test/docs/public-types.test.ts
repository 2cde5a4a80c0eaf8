import { resolve } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = `${ROOT}/src/`;

/**
 * Types that are met by who uses what an entry exports, and that the entry does not export: a function of theirs that returns
 * one cannot be declared (TS2883), for nothing else of the package can be imported.
 */
function findUnnamed(program: ts.Program, file: string): string[] {
  const checker = program.getTypeChecker();
  const original = (symbol: ts.Symbol): ts.Symbol =>
    (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
  const source = program.getSourceFile(resolve(ROOT, file));
  const entry = source && checker.getSymbolAtLocation(source);
  if (entry === undefined) throw new Error(`${file} exports nothing`);
  const exported = checker.getExportsOfModule(entry);
  const named = new Set(exported.map(original));
  const unnamed = new Set<string>();
  const seen = new Set<ts.Symbol>();
  const look = (node: ts.Node): void => {
    // What is done inside shows nowhere.
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
    // An alias that its own module keeps to itself is written out where it is met.
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

test('whoever uses the package can name every type that they meet', { timeout: 60_000 }, () => {
  const entries = ['src/client/index.ts', 'src/index.ts'];
  const config = ts.getParsedCommandLineOfConfigFile(
    `${ROOT}/tsconfig.build.json`,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => undefined,
    },
  );
  const files = entries.map((file) => resolve(ROOT, file));
  const program = ts.createProgram(files, config?.options ?? {});
  for (const entry of entries) expect(findUnnamed(program, entry), entry).toEqual([]);
});
