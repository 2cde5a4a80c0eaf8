import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

/** A regular expression in a source file. */
export interface SourceExpression {
  /** `src/providers/retry-time.ts:10` */
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** A caller's string inside a pattern. All such strings are names of fields, so a short word stands for each. */
const ANY_NAME = 'name';

/**
 * Finds every regular expression under a folder: literals, and `new RegExp(...)` whose arguments are built from constants of
 * the same file.
 * @throws Error, when a constructor's argument cannot be evaluated: an expression that is not seen is not checked
 */
export function findExpressions(folder: string): SourceExpression[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .toSorted()
    .flatMap((path) => readFile(join(folder, path)));
}

function readFile(path: string): SourceExpression[] {
  const file = ts.createSourceFile(path, readFileSync(resolve(path), 'utf8'), ts.ScriptTarget.Latest, true);
  const found: SourceExpression[] = [];
  const visit = (node: ts.Node): void => {
    const place = `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (ts.isRegularExpressionLiteral(node)) found.push({ place, ...readLiteral(node) });
    if (isRegExpCall(node)) {
      const [source, flags] = node.arguments ?? [];
      if (source === undefined) throw new Error(`${place}: RegExp without a pattern`);
      found.push({ place, source: evaluate(source, file), flags: flags === undefined ? '' : evaluate(flags, file) });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isRegExpCall(node: ts.Node): node is ts.NewExpression | ts.CallExpression {
  return (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';
}

function readLiteral(node: ts.RegularExpressionLiteral): { source: string; flags: string } {
  const end = node.text.lastIndexOf('/');
  return { source: node.text.slice(1, end), flags: node.text.slice(end + 1) };
}

/** The value of an expression that builds a pattern: strings, templates, constants, and joined lists of these. */
function evaluate(node: ts.Expression, file: ts.SourceFile): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isRegularExpressionLiteral(node)) return readLiteral(node).source;
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.map(({ expression, literal }) => evaluate(expression, file) + literal.text);
    return node.head.text + spans.join('');
  }
  if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'String.raw')
    return evaluateRaw(node.template, file);
  if (ts.isIdentifier(node)) return evaluateName(node, file);
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'source') return evaluate(node.expression, file);
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    if (name.text === 'join')
      return evaluateList(expression, file).join(evaluate(node.arguments[0] as ts.Expression, file));
    if (name.text === 'fromCodePoint') return String.fromCodePoint(Number(node.arguments[0]?.getText()));
  }
  throw new Error(`${file.fileName}: the pattern ${node.getText()} cannot be evaluated. Build it from constants.`);
}

function evaluateRaw(template: ts.TemplateLiteral, file: ts.SourceFile): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.rawText ?? '';
  const spans = template.templateSpans.map(
    ({ expression, literal }) => evaluate(expression, file) + (literal.rawText ?? ''),
  );
  return (template.head.rawText ?? '') + spans.join('');
}

/** A constant of the file, or a parameter. */
function evaluateName(name: ts.Identifier, file: ts.SourceFile): string {
  const constant = file.statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => [...declarationList.declarations])
    .find((declaration) => declaration.name.getText() === name.text);
  return constant?.initializer === undefined ? ANY_NAME : evaluate(constant.initializer, file);
}

/** `[…]`, or `[…].map(({ source }) => source)`. */
function evaluateList(node: ts.Expression, file: ts.SourceFile): string[] {
  if (ts.isArrayLiteralExpression(node)) return node.elements.map((element) => evaluate(element, file));
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    return evaluateList(node.expression.expression, file);
  }
  throw new Error(`${file.fileName}: the list ${node.getText()} cannot be evaluated. Write it as an array.`);
}
