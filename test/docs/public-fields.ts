import ts from 'typescript';

/** Fields whose name says the same in every public type. A docstring could only repeat the name. */
const SELF_EXPLANATORY = new Set(
  `agent answer call cause code content conversation description durationMs enabled error explained failure fields for from
  id job jobs keepChars limitBytes message model ms name outcome output outputTokens passId pinsHash policyHash prices
  profile prompt proposal queue reasons redrivenAs removedKeys roles settledAt shard sourceTokens state step strategy
  system systemHash tenant to tokens tokensAfter tokensBefore toolCalls tools toolsHash turn usedBytes verdict version
  waiting warnings weight what where why worker write`.split(/\s+/),
);

/**
 * Lists public fields without a docstring as `Type.field`: of each exported type, of nested objects, and of each member
 * of a union. Fields that a library declares are skipped. A field with one literal or a self-explanatory name needs no
 * docstring.
 */
export function findUndocumented(program: ts.Program, path: string, isOwn: (file: string) => boolean): string[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  const entry = source && checker.getSymbolAtLocation(source);
  if (entry === undefined) throw new Error(`${path} exports nothing`);
  const undocumented = new Set<string>();
  const seen = new Set<ts.Type>();
  const look = (type: ts.Type, name: string): void => {
    if (seen.has(type)) return;
    seen.add(type);
    if (type.isUnionOrIntersection()) {
      for (const part of type.types) look(part, name);
      return;
    }
    const [element] = checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference) : [];
    if (element !== undefined) {
      look(element, name);
      return;
    }
    if ((type.flags & ts.TypeFlags.Object) === 0) return;
    for (const field of checker.getPropertiesOfType(type)) {
      const declarations = field.declarations ?? [];
      if (!declarations.some((node) => isOwn(node.getSourceFile().fileName)) || isHidden(declarations)) continue;
      const title = `${name}.${field.name}`;
      const fieldType = checker.getTypeOfSymbol(field);
      // A literal needs no text: it distinguishes the members of a union.
      const isDiscriminant = fieldType.isLiteral();
      if (!isDiscriminant && !SELF_EXPLANATORY.has(field.name) && field.getDocumentationComment(checker).length === 0)
        undocumented.add(title);
      look(fieldType, title);
    }
  };
  for (const exported of checker.getExportsOfModule(entry)) {
    const symbol = (exported.flags & ts.SymbolFlags.Alias) === 0 ? exported : checker.getAliasedSymbol(exported);
    if ((symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Class)) === 0) continue;
    look(checker.getDeclaredTypeOfSymbol(symbol), exported.name);
  }
  return [...undocumented].toSorted();
}

/** Private names, and fields that a class declares for itself. */
function isHidden(declarations: readonly ts.Declaration[]): boolean {
  return declarations.some(
    (node) =>
      (ts.isPropertyDeclaration(node) || ts.isMethodDeclaration(node)) &&
      (ts.isPrivateIdentifier(node.name) ||
        (ts.getCombinedModifierFlags(node) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0),
  );
}
