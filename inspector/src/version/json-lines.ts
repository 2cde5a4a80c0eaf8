/** Characters shown of one line. A line of 1 MB would block the page. The copy button gives the whole text. */
const MAX_CHARACTERS = 1_000;

export function jsonLines(value: unknown): readonly string[] {
  return JSON.stringify(value, null, 2).split('\n');
}

export function shortenLine(line: string): string {
  return line.length <= MAX_CHARACTERS
    ? line
    : `${line.slice(0, MAX_CHARACTERS)}… (${line.length - MAX_CHARACTERS} more characters)`;
}

/**
 * Searches from the given line to the end, and then from the start. Ignores case.
 * @returns -1 if no line has the text
 */
export function findLine(lines: readonly string[], wanted: string, from: number): number {
  const text = wanted.toLowerCase();
  if (text === '') return -1;
  const next = lines.findIndex((line, index) => index >= from && line.toLowerCase().includes(text));
  return next === -1 ? lines.findIndex((line) => line.toLowerCase().includes(text)) : next;
}

interface JsonPiece {
  readonly text: string;
  readonly kind: 'key' | 'text' | 'word' | 'mark';
}

const TOKENS = /(?<key>"(?:[^"\\]|\\.)*"(?=:))|(?<text>"(?:[^"\\]|\\.)*"?)|(?<word>[\w.+-]+)/g;

export function jsonPieces(line: string): JsonPiece[] {
  const pieces: JsonPiece[] = [];
  let end = 0;
  for (const { 0: text, index, groups = {} } of line.matchAll(TOKENS)) {
    if (index > end) pieces.push({ text: line.slice(end, index), kind: 'mark' });
    const kind = groups['key'] === undefined ? (groups['text'] === undefined ? 'word' : 'text') : 'key';
    pieces.push({ text, kind });
    end = index + text.length;
  }
  if (end < line.length) pieces.push({ text: line.slice(end), kind: 'mark' });
  return pieces;
}
