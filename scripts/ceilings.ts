import ts from 'typescript';

/**
 * Maximum sizes of files and functions. Test files and test functions may be longer, but may not have more parameters.
 */
export const ceilings = { fileLines: 300, functionLines: 60, parameters: 4, luaCodeLines: 60 } as const;

export interface ProjectFile {
  /** Path relative to the project's root, with forward slashes. */
  path: string;
  text: string;
}

export interface Violation {
  path: string;
  line: number;
  message: string;
}

const forbiddenWord = /^(utils?|helpers?|managers?)$/;
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const mark = /(?:\/\/|--|#|\*).*\b([T]ODO|[F]IXME|[X]XX|[H]ACK)\b/;
const machinePath = /(?<![\w.~}/-])\/(?:work|root|farm|tmp|home|Users)\/[\w.-]+/;
const bareSuppression = /oxlint-disable(?:-next-line|-line)?\b(?!.* -- \S)/;

/** Requires kebab-case names for code files and folders, and rejects words that describe nothing, e.g. `utils`. */
export function checkName({ path }: ProjectFile): Violation[] {
  const segments = path.split(/[./]/);
  const odd = segments.find((segment) => !kebabCase.test(segment));
  const empty = segments.flatMap((segment) => segment.split('-')).find((word) => forbiddenWord.test(word));
  return [
    ...(odd === undefined ? [] : [{ path, line: 1, message: `name "${odd}" is not kebab-case` }]),
    ...(empty === undefined ? [] : [{ path, line: 1, message: `name "${empty}" says nothing` }]),
  ];
}

/** Rejects marks of unfinished work, absolute paths of one machine, and lint suppressions without a reason. */
export function checkLines({ path, text }: ProjectFile): Violation[] {
  return text.split('\n').flatMap((content, index) => {
    const line = index + 1;
    const found: Violation[] = [];
    if (mark.test(content)) found.push({ path, line, message: `mark ${mark.exec(content)?.[1]}` });
    if (machinePath.test(content)) found.push({ path, line, message: `path ${machinePath.exec(content)?.[0]}` });
    if (bareSuppression.test(content)) found.push({ path, line, message: 'suppression without " -- reason"' });
    return found;
  });
}

export function checkLua({ path, text }: ProjectFile): Violation[] {
  const withoutBlocks = text.replaceAll(/--\[\[[\s\S]*?\]\]/g, '');
  const lines = withoutBlocks.split('\n').filter((line) => !/^\s*(--.*)?$/.test(line)).length;
  return lines <= ceilings.luaCodeLines ? [] : [{ path, line: 1, message: `script of ${lines} lines of code` }];
}

/** Checks the sizes of files and functions and the names of functions in the syntax tree. Also counts the functions. */
export function checkTypeScript({ path, text }: ProjectFile): { functions: number; violations: Violation[] } {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const isTest = path.startsWith('test/');
  const violations: Violation[] = [];
  let functions = 0;
  const lineAt = (position: number): number => tree.getLineAndCharacterOfPosition(position).line + 1;

  function visit(node: ts.Node): void {
    const line = lineAt(node.getStart());
    const name = declaredName(node);
    const empty = name === undefined ? undefined : splitWords(name).find((word) => forbiddenWord.test(word));
    if (empty !== undefined) violations.push({ path, line, message: `name "${name}": "${empty}" says nothing` });
    if (ts.isFunctionLike(node)) {
      const parameters = node.parameters.filter((parameter) => parameter.name.getText() !== 'this').length;
      if (parameters > ceilings.parameters) violations.push({ path, line, message: `${parameters} parameters` });
      const lines = lineAt(node.getEnd()) - line + 1;
      const isLong = !isTest && lines > ceilings.functionLines;
      if (isLong) violations.push({ path, line, message: `function of ${lines} lines` });
      functions += 1;
    }
    ts.forEachChild(node, visit);
  }
  visit(tree);

  const fileLines = text.trimEnd().split('\n').length;
  const isLong = !isTest && fileLines > ceilings.fileLines;
  if (isLong) violations.push({ path, line: ceilings.fileLines + 1, message: `file of ${fileLines} lines` });
  return { functions, violations };
}

function declaredName(node: ts.Node): string | undefined {
  const isDeclaration =
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isVariableDeclaration(node);
  return isDeclaration && node.name !== undefined && ts.isIdentifier(node.name) ? node.name.text : undefined;
}

function splitWords(name: string): string[] {
  return name.split(/(?<=[a-z0-9])(?=[A-Z])|_/).map((word) => word.toLowerCase());
}
