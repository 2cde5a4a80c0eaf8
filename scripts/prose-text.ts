/** Finds the prose of a file: comments, test titles, message texts, and the paragraphs of a documentation page. */
import ts from 'typescript';

export interface Prose {
  /** Line number of the first word, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Word that replaces code in a sentence, so that no rule checks the code. */
const CODE = 'Code';
/** A string with fewer words is a name, a key or a label, not prose. */
const LEAST_WORDS = 4;
const TITLE_CALLS = /^(?:test|it|describe)$/;

export function readTypeScript(path: string, text: string): Prose[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found = [...readComments(source, text), ...readStrings(source, path.startsWith('test/'))];
  return found.filter((prose) => prose.text.trim() !== '');
}

function readComments(source: ts.SourceFile, text: string): Prose[] {
  const found = new Map<number, ts.CommentRange>();
  const visit = (node: ts.Node): void => {
    for (const range of ts.getLeadingCommentRanges(text, node.pos) ?? []) found.set(range.pos, range);
    for (const range of ts.getTrailingCommentRanges(text, node.end) ?? []) found.set(range.pos, range);
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  const ranges = [...found.values()].toSorted((one, other) => one.pos - other.pos);
  const blocks: Prose[] = [];
  let lastLine = -1;
  for (const { pos, end, kind } of ranges) {
    const { line } = source.getLineAndCharacterOfPosition(pos);
    const raw = text.slice(pos, end);
    if (/^\/\/ (?:oxlint|biome|@ts|knip)/.test(raw)) continue;
    const last = blocks.at(-1);
    if (kind === ts.SyntaxKind.SingleLineCommentTrivia && last !== undefined && line === lastLine + 1) {
      blocks[blocks.length - 1] = { line: last.line, text: `${last.text}\n${raw.slice(2)}` };
    } else if (kind === ts.SyntaxKind.SingleLineCommentTrivia) blocks.push({ line: line + 1, text: raw.slice(2) });
    else blocks.push(...readDocComment(raw, line + 1));
    lastLine = kind === ts.SyntaxKind.SingleLineCommentTrivia ? line : -1;
  }
  return blocks.map((block) => ({ ...block, text: hideCode(block.text) }));
}

/** Splits a doc comment at its tags. The tag's name and its parameter are omitted. */
function readDocComment(raw: string, line: number): Prose[] {
  const lines = raw
    .replace(/^\/\*\*?/, '')
    .replace(/\*\/$/, '')
    .split('\n');
  const blocks: Prose[] = [];
  for (const [index, one] of lines.entries()) {
    const content = one.replace(/^\s*\*? ?/, '');
    const tag = /^@(?:param [\w.]+|\w+)\s*/.exec(content)?.[0];
    const isItem = /^\s*(?:[-*]|\d+\.) /.test(content);
    const last = blocks.at(-1);
    if (last === undefined || tag !== undefined || isItem || content.trim() === '') {
      blocks.push({ line: line + index, text: content.slice(tag?.length ?? 0).replace(/^\s*(?:[-*]|\d+\.) /, '') });
    } else blocks[blocks.length - 1] = { line: last.line, text: `${last.text}\n${content}` };
  }
  return blocks;
}

/** Finds the titles of tests, and elsewhere every string or text of a page that is long enough to be a sentence. */
function readStrings(source: ts.SourceFile, isTest: boolean): Prose[] {
  const found: Prose[] = [];
  const visit = (node: ts.Node): void => {
    const isText =
      ts.isStringLiteral(node) ||
      ts.isNoSubstitutionTemplateLiteral(node) ||
      ts.isTemplateExpression(node) ||
      ts.isJsxText(node);
    if (isText && (isTest ? isTitle(node) : isSentence(textOf(node)))) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ line: line + 1, text: hideCode(textOf(node)) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function textOf(
  node: ts.StringLiteral | ts.NoSubstitutionTemplateLiteral | ts.TemplateExpression | ts.JsxText,
): string {
  if (!ts.isTemplateExpression(node)) return node.text;
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join(CODE);
}

function isSentence(text: string): boolean {
  return text.split(' ').filter((word) => /^[\p{L}'’,.]+$/u.test(word)).length >= LEAST_WORDS;
}

function isTitle({ parent, pos }: ts.Node): boolean {
  if (!ts.isCallExpression(parent) || parent.arguments[0]?.pos !== pos) return false;
  return TITLE_CALLS.test(/^\w+/.exec(parent.expression.getText())?.[0] ?? '');
}

export function readLua(text: string): Prose[] {
  const blocks: Prose[] = [];
  let lastLine = -1;
  for (const [index, line] of text.split('\n').entries()) {
    const comment = /^\s*--\s?(.*)$/.exec(line)?.[1];
    if (comment === undefined || comment.startsWith('@')) continue;
    const last = blocks.at(-1);
    if (
      last !== undefined &&
      index === lastLine + 1 &&
      !/^(?:KEYS|ARGV|Reply|Returns?|Needs|Sets|Defines)\b/.test(comment)
    ) {
      blocks[blocks.length - 1] = { line: last.line, text: `${last.text}\n${comment}` };
    } else blocks.push({ line: index + 1, text: comment });
    lastLine = index;
  }
  return blocks
    .filter(({ text: block }) => !/^(?:KEYS|ARGV|Reply|Returns?|Needs|Sets|Defines)\b/.test(block))
    .map((block) => ({ ...block, text: hideCode(block.text) }));
}

/** Finds paragraphs, list items and table cells, without headings, code blocks and HTML comments. */
export function readMarkdown(text: string): Prose[] {
  const blocks: Prose[] = [];
  let isOpen = false;
  let isCode = false;
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
    const isBreak = isCode || /^\s*(?:```|~~~|#|<|$|\|?[-:| ]+\|?$)/.test(line);
    if (isBreak) isOpen = false;
    else if (/^\s*\|/.test(line)) {
      isOpen = false;
      for (const cell of line.split(/(?<!\\)\|/)) blocks.push({ line: index + 1, text: cell });
    } else {
      const item = /^\s*(?:[-*]|\d+\.)\s+|^\s*>\s*/.exec(line)?.[0];
      const last = blocks.at(-1);
      const content = line.slice(item?.length ?? 0);
      if (isOpen && item === undefined && last !== undefined) {
        blocks[blocks.length - 1] = { line: last.line, text: `${last.text}\n${content}` };
      } else blocks.push({ line: index + 1, text: content });
      isOpen = true;
    }
  }
  return blocks.map((block) => ({ ...block, text: hideCode(block.text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')) }));
}

function hideCode(text: string): string {
  return text.replaceAll(/`[^`]*`/g, CODE).replaceAll(/\{@\w+ [^}]*\}/g, CODE);
}
